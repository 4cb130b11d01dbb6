"""Write many rows by one statement, the same in SQLite and PostgreSQL: as one JSON parameter.

PostgreSQL's driver would send each row by itself.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, Text, text

Row = tuple[int | str, ...]
_AT_ONCE: Final = 10_000
_SOURCES: Final = {
    "sqlite": "json_each(:rows)",
    "postgresql": "json_array_elements(CAST(:rows AS json)) AS given(value)",
}


def insert_missing(
    connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Row]
) -> None:
    """Insert those rows that no unique constraint forbids."""
    into = f"INSERT INTO {table.name} ({_listed(names)})"
    given = _given(connection, table, names)
    for each in _parts(rows):
        connection.execute(text(f"{into} {given} ON CONFLICT DO NOTHING"), each)


def add_amounts(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert the rows, or add their amounts to those with the same keys."""
    names = [column.name for column in table.columns]
    keys = [column.name for column in table.primary_key]
    more = ", ".join(
        f'"{name}" = {table.name}."{name}" + excluded."{name}"'
        for name in names
        if name not in keys
    )
    into = f"INSERT INTO {table.name} ({_listed(names)})"
    given = _given(connection, table, names)
    statement = f"{into} {given} ON CONFLICT ({_listed(keys)}) DO UPDATE SET {more}"
    for each in _parts(rows):
        connection.execute(text(statement), each)


def raise_to(
    connection: Connection, table: Table, column: str, value: int, rows: Sequence[Row]
) -> None:
    """Raise a column to a value, where it is less, of the rows with these ids."""
    given = _given(connection, table, ["id"])
    below = f'id IN ({given}) AND "{column}" < :value'
    statement = f'UPDATE {table.name} SET "{column}" = :value WHERE {below}'  # noqa: S608 - names of our own tables
    for each in _parts(rows):
        connection.execute(text(statement), {**each, "value": value})


def ids(
    connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Row]
) -> dict[Row, int]:
    """The id of each row by the values of its unique columns."""
    same = " AND ".join(f'known."{name}" = wanted."{name}"' for name in names)
    columns = ", ".join(f'known."{name}"' for name in names)
    given = _given(connection, table, names)
    statement = (
        f"SELECT known.id, {columns} FROM {table.name} AS known JOIN ({given}) AS wanted ON {same}"  # noqa: S608 - names of our own tables
    )
    found: dict[Row, int] = {}
    for each in _parts(rows):
        found.update((tuple(row[1:]), row[0]) for row in connection.execute(text(statement), each))
    return found


def _given(connection: Connection, table: Table, names: Sequence[str]) -> str:
    """The parameter's rows as a table."""
    columns = ", ".join(
        f'CAST(value ->> {place} AS {_type(table, name)}) AS "{name}"'
        for place, name in enumerate(names)
    )
    # SQLite would read ON as the beginning of a join's condition, but for WHERE.
    return f"SELECT {columns} FROM {_SOURCES[connection.dialect.name]} WHERE true"  # noqa: S608 - names of our own tables


def _type(table: Table, name: str) -> str:
    return "text" if isinstance(table.columns[name].type, Text) else "bigint"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _parts(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield {"rows": json.dumps(rows[start : start + _AT_ONCE])}
