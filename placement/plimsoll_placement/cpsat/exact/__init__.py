"""Some jobs on some nodes, placed anew pod by pod with nothing relaxed, while the rest stays."""
