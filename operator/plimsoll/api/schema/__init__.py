"""CRDs and the API reference, generated from the models."""
