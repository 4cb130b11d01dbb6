"""Which replicas share a GPU: where those with parts of GPUs do least to each other."""
