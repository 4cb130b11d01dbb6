"""A job's pods: what they look like, where they are, what became of them."""
