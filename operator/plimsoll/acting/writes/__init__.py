"""Write steps to the API server."""
