"""What the commands about one job say: from its objects to values, and from these to lines."""
