"""Results as text, tables, JSON and YAML."""
