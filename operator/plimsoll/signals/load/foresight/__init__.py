"""What loads are expected, and the capacity that is worth having for them."""
