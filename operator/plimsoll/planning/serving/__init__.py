"""Services: how many replicas, of which sizes, and which are removed first."""
