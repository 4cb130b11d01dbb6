"""The cheapest mix of GPU types: rival rules, exact optima, measured profiles."""
