"""Which nodes to buy, for whom, within which limits, and what of it is taken back."""
