"""Files that record a moment of the cluster, with the plan made from it."""
