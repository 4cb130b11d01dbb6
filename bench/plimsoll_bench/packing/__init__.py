"""Packing pods that arrive one by one, which no program of the product does yet."""
