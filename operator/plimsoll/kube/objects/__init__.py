"""The objects of Kubernetes, reduced to what Plimsoll reads."""
