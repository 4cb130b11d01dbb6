"""Nodes and pods as plans see them."""
