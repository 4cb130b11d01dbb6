"""Metrics of completed steps and of what services want."""
