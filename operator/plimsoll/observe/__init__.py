"""From objects to a snapshot: what the cluster is, in the terms that plans are made in. Pure."""
