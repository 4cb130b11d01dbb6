"""Signals from Prometheus: the only package that talks to it.

Queries are sent and decoded here; what the numbers mean is decided elsewhere.
"""
