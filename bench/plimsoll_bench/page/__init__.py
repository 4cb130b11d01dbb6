"""What only the benchmark of the console's page needs."""
