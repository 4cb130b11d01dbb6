"""What the benchmarks of the running operator measure, and the services they run beside it."""
