"""Deadlines on spot capacity."""
