"""Turn placements into a plan, and check that it still holds."""
