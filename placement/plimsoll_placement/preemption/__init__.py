"""Which jobs yield to which, and what is moved."""
