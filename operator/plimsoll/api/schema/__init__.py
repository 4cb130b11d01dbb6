"""CRDs and the reference of the API, generated from the models."""
