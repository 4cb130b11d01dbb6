"""Several models on shared GPUs: who is with whom, so that none is under too much pressure."""
