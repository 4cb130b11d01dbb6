"""Reach the console from a terminal, with the user's own rights."""
