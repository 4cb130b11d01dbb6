"""A recorded day of training and serving on unlike GPUs, by the operator and by rivals."""
