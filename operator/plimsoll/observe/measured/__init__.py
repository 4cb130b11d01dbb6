"""Measurements and reports at one moment."""
