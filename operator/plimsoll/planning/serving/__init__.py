"""Services: how many replicas, of which sizes, which go first."""
