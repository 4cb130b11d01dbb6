"""Immediate placements, without a search."""
