"""Pod templates: their models, and Kubernetes' own schema for them."""
