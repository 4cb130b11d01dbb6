"""What a job's status says, one module a subject."""
