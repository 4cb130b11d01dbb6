"""Traces as people have them: jobs and what happened to nodes in CSV files, onto a cluster."""
