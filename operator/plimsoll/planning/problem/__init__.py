"""Build the placement problem from a snapshot."""
