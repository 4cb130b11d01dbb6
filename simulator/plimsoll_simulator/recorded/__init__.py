"""Recorded training: applications with their profiles, which of them arrive when, and as jobs."""
