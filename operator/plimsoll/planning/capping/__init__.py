"""Power caps of nodes, by what is drawn and what is expected."""
