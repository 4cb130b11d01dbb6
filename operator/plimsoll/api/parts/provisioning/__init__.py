"""How nodes are ordered, and how much they may cost."""
