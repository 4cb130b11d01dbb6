"""Prometheus: queries, their budget, their answers."""
