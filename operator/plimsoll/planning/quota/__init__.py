"""Queues: fair shares, limits, guarantees, reservations."""
