"""Rival policies for elastic training."""
