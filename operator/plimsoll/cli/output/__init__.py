"""Answers as text, tables, JSON and YAML."""
