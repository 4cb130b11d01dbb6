"""What only the benchmarks need: rival policies, exact answers, recorded traces."""
