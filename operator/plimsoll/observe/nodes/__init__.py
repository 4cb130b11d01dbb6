"""Facts about one node: its GPUs, its notices, its power limits."""
