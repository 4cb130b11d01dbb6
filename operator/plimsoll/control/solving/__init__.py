"""Solve beside the event loop, in a process of its own."""
