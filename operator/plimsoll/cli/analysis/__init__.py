"""What the commands work out."""
