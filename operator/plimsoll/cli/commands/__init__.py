"""The commands and their options, one per module."""
