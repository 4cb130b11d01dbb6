"""Prometheus: queries, their budget, their results."""
