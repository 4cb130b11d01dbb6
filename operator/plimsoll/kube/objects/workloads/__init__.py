"""Objects whose own controllers make pods, reduced to what Plimsoll plans, holds and places by."""
