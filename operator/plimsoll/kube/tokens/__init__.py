"""Tokens of workers' pods, and whose they are."""
