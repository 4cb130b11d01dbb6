"""Metrics of what was done and of what services want."""
