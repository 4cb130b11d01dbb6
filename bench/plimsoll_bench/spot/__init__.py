"""Deadlines on recorded spot capacity: policies, and the best in hindsight."""
