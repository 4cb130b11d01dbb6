"""A year of jobs for the ledger, and what is asked of it then."""
