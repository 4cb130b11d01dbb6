"""Files in which a moment of the cluster stands, with the plan that was made of it."""
