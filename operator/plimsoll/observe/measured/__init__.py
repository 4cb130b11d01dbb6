"""Measurements and reports of one moment."""
