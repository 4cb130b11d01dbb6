"""What workers and the operator tell each other while a job runs."""
