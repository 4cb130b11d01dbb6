"""The cluster as the solver sees it."""
