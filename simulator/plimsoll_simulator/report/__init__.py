"""What became of a simulated workload, in figures and as a picture."""
