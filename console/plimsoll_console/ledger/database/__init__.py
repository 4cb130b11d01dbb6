"""The ledger's rows in SQLite or PostgreSQL."""
