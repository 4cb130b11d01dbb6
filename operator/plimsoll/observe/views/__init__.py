"""Nodes and pods as planning sees them."""
