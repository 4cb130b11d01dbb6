"""Turn API objects into a snapshot: the cluster in the terms that planning uses. Pure."""
