"""Complete what a user types in a shell: commands, options, and names from the cluster."""
