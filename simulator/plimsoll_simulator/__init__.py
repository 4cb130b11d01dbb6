"""Simulated time: recorded jobs arrive, run, learn how fast they are, and are placed anew."""
