"""Which pods may run on which nodes, as kube-scheduler decides it."""
