"""What is assumed of jobs that do not say how fast they are on which GPUs."""
