"""Requests to the API server, and their answers."""
