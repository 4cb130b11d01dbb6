"""Questions about the plan: why a job waits, and what would change if it were different."""
