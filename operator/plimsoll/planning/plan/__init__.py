"""From placements to a plan that still holds."""
