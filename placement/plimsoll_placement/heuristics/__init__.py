"""Placements at once, without a search."""
