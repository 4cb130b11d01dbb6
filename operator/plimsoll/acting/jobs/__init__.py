"""The next step of a job, from its first pod to its last."""
