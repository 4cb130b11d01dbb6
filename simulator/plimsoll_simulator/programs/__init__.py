"""What runs in the cluster's pods."""
