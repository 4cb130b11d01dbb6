"""The questions that commands ask of a running cluster: which objects, and how they are shown."""
