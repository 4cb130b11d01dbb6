"""Power in plans: jobs' draw, budgets, load shedding."""
