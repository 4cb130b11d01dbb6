"""The commands about one job."""
