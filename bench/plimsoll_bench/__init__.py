"""What the benchmarks need and no program ships: rival policies, exact answers, recorded traces."""
