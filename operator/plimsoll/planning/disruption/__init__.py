"""What must not be disturbed, and where nothing may be placed for now."""
