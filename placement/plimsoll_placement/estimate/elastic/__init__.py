"""What is each size worth to an elastic job now? From what is known of it to a planning problem."""
