"""Packing pods that arrive one by one: where each goes, so that most of what comes still fits."""
