"""From what was seen of the cluster at two moments to rows by the hour. Pure."""
