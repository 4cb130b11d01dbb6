"""Autoscaling on recorded rates and on a live service: rival policies, and what they cost."""
