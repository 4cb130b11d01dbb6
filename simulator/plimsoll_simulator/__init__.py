"""A cluster in memory and in its own time, on which the operator's own code runs."""
