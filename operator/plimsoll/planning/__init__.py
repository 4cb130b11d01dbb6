"""Turn a snapshot into a plan. Pure: no input or output."""
