"""Several models on shared GPUs: recorded instances, what must hold, and the exact optimum."""
