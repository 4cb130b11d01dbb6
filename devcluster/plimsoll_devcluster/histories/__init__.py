"""Histories: clusters in which much goes wrong, and the invariants that must hold nevertheless."""
