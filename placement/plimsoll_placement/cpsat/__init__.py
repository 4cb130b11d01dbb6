"""The CP-SAT model: which jobs run where, and how large."""
