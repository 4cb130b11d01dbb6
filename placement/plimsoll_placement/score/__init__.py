"""How good placements are, and how good any can be."""
