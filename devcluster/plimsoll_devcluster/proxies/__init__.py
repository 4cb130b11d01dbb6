"""Proxies in front of an API server that fail on command."""
