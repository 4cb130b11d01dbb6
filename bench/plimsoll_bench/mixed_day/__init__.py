"""A recorded day of requests, served by simulated replicas."""
