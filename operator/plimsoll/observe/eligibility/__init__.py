"""Which pods may run on which nodes, by kube-scheduler's rules."""
