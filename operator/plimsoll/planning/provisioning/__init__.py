"""Which nodes to buy for jobs that wait, and which to give back."""
