"""What a replica of a service carries within its objective, learned from load and latency."""
