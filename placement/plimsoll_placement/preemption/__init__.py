"""Who gives way for whom, and what is moved."""
