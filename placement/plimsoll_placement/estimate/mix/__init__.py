"""The cheapest GPUs for inference: how many replicas of each model on which type, within supply."""
