"""KEDA, which scales Deployments by what Prometheus says, beside a control plane."""
