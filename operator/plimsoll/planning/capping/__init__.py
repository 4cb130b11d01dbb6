"""Power caps of nodes, by measured and expected draw."""
