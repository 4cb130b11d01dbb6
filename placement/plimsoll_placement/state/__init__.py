"""What is free while placements are made."""
