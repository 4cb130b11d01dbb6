"""Spot capacity: when a job with a deadline should use it, and what interruptions cost."""
