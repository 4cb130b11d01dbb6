"""The only package that talks to the API server: read, watch, write, lead, record events."""
