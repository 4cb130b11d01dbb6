"""What others' objects become, as manifests for `kubectl apply`."""
