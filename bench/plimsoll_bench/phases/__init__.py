"""Prefill and decode as engines with queues whose truth is known, and who chooses their counts."""
