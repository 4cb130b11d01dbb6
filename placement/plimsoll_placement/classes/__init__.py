"""Nodes and jobs that are alike, counted instead of named."""
