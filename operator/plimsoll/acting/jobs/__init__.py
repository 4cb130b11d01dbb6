"""A job's next step: its life from the first pod to the last."""
