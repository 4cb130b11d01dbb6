"""Collections of the API server, kept current in memory."""
