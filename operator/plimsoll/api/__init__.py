"""The custom resources: their models, validation and CRDs."""
