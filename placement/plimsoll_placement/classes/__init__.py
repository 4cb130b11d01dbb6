"""Like nodes and like jobs, counted instead of named."""
