"""Several models on shared GPUs, which the product does not plan yet."""
