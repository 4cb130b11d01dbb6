"""Read a running cluster for commands that show it, once or as it changes."""
