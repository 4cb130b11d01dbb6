"""Which bought nodes to give for others that running jobs are better off on."""
