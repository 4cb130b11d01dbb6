"""The only room that talks to the API server: read, watch, write, lead, tell."""
