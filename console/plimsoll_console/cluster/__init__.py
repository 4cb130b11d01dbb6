"""The console's own view of the cluster."""
