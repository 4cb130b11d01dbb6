"""Histories of clusters in which much goes wrong, and what must hold in them all the same."""
