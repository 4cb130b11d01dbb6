"""How steps reach the API server."""
