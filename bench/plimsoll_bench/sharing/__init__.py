"""Several models on shared GPUs, which no program of the product plans yet."""
