"""Empty databases of both kinds, as fixtures; a conftest.py imports those that its tests need."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from plimsoll_console.ledger.database.connection import connected
from plimsoll_devcluster.processes.postgresql_server import PostgresqlServer
from plimsoll_devcluster.programs.postgresql_program import find_postgresql

KINDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """A server with one database, for all tests of a process."""
    with PostgresqlServer(find_postgresql(os.environ)) as server:
        yield server


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    return empty_database(request, tmp_path)


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    """An engine for it."""
    engine = connected(database)
    yield engine
    engine.dispose()


def empty_database(request: pytest.FixtureRequest, folder: Path) -> str:
    """The URL of a database of the kind that is the request's parameter."""
    if request.param == "sqlite":
        return f"sqlite:///{folder / 'ledger.db'}"
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    engine = connected(server.url)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return server.url
