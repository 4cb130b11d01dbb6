"""The parts of a job's status, one module per subject."""
