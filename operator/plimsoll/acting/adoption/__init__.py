"""What follows for workloads that ask to be planned, and for the jobs that stand for them."""
