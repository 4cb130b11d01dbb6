"""Types of single values: quantities, durations, names, counts."""
