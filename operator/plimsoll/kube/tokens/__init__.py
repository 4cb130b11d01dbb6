"""Tokens of workers' pods, and the pods they belong to."""
