"""Kubernetes objects, reduced to what Plimsoll reads."""
