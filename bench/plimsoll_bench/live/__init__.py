"""What the benchmarks of the running operator read, and the services that they run beside it."""
