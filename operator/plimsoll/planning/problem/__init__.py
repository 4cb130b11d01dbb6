"""From a snapshot to the placement problem."""
