"""Bring a database's tables up to date, by Alembic's migrations."""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

_FOLDER: Final = Path(__file__).with_name("migrations")
_LOCK: Final = 0x504C494D
"""The advisory lock of migrations in PostgreSQL: any number that nobody else uses."""


def migrate(engine: Engine) -> None:
    """Make or alter the tables, all or nothing; another console that does the same waits."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
