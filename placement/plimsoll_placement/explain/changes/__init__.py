"""Changes that would let a waiting job run."""
