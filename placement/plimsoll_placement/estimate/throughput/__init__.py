"""Training throughput, learned: measured where a job has run, predicted where it has not."""
