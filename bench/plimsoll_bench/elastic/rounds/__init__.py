"""Rounds of time, each ended by a decision: the world in which Sia's rule was published."""
