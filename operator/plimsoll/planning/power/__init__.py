"""Power in plans: what jobs draw, budgets, and who gives way."""
