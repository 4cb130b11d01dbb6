"""Buy nodes, trade them for better ones, and give them back."""
