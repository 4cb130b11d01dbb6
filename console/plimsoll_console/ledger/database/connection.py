"""Connect to the ledger's database, by URL."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, ExceptionContext, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

SECONDS: Final = 60
"""How long a statement may take, and how long one waits for another's lock."""
_READS: Final = "plimsoll_reads"
"""The execution option of connections that only read."""
_SQLITE: Final = "sqlite"
_POSTGRESQL: Final = "postgresql+pg8000"


class UnusableDatabase(ValueError):  # noqa: N818 - named as the operator's other errors are
    """The URL leads to no database that the ledger can use; the message says what would."""


def checked_url(text: str) -> URL:
    """The URL of a database. Raises UnusableDatabase."""
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise UnusableDatabase(_WANTED) from error
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername=_POSTGRESQL)
    if url.drivername not in (_SQLITE, _POSTGRESQL):
        raise UnusableDatabase(_WANTED)
    return url


_WANTED: Final = (
    "must be sqlite:////path/of/a/file or postgresql://user:password@host/database: correct the URL"
)


def connected(text: str) -> Engine:
    """An engine for a database. Connects to nothing yet. Raises UnusableDatabase."""
    url = checked_url(text)
    if url.drivername == _SQLITE:
        return _sqlite(url)
    return create_engine(
        url,
        hide_parameters=True,
        pool_pre_ping=True,
        pool_timeout=SECONDS,
        connect_args={"timeout": SECONDS, "application_name": "plimsoll-console"},
    )


@contextmanager
def reading(engine: Engine) -> Generator[Connection]:
    """A connection that only reads, all of it from one moment, and keeps no writer waiting."""
    options = {_READS: True}
    if engine.dialect.name == "postgresql":
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


_NEEDS: Final = f"let user {os.getuid()} write to its folder"


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, hide_parameters=True, connect_args={"timeout": SECONDS})

    @event.listens_for(engine, "do_connect")
    def _make_the_folder(*_: object) -> None:  # pyright: ignore[reportUnusedFunction]
        folder = Path(url.database or "").parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(f"{folder} cannot be made ({error.strerror}): {_NEEDS}") from error

    @event.listens_for(engine, "connect")
    def _prepare(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:  # pyright: ignore[reportUnusedFunction]
        # Python's sqlite3 would begin transactions late, when another may have begun one.
        connection.isolation_level = None
        cursor = connection.cursor()
        # Readers and the writer do not wait for each other. What a power failure takes is
        # accounted for again, as what was seen before is in the same transaction.
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()

    @event.listens_for(engine, "handle_error")
    def _name_the_file(context: ExceptionContext) -> None:  # pyright: ignore[reportUnusedFunction]
        error = context.original_exception
        if isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_CANTOPEN:
            raise OSError(f"{url.database} cannot be opened: {_NEEDS}") from error

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        only_reads = connection.get_execution_options().get(_READS)
        connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")

    return engine
