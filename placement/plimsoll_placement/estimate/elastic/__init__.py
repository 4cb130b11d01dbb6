"""What each size is worth to an elastic job now, as input to a planning problem."""
