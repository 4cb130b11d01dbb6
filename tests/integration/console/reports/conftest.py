"""Empty databases of both kinds."""

from support.ledger.databases import database, engine, postgresql

__all__ = ["database", "engine", "postgresql"]
