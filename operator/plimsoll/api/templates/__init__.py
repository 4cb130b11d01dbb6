"""Pod templates: their models, and Kubernetes' own schema of them."""
