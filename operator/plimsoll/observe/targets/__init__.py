"""Workloads of other controllers, seen as if they were their jobs' own."""
