"""HTTP: the page, the JSON API, and its stream of changes."""
