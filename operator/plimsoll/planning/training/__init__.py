"""Training: rates, goodput, expected ends, what a stop costs."""
