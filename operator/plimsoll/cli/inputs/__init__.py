"""Clusters from files, snapshots and running API servers."""
