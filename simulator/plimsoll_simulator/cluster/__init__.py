"""A Kubernetes cluster in memory: what an API server, kube-scheduler and kubelets do."""
