"""Recorded files, read strictly: what makes no sense in them ends the program.

A figure that was worked out from an empty field or a negative count looks like any other. So every
field is checked as it is read, and the message names the file, the row and the field.
"""

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast


class Row:
    """A row of a CSV file or an object of a JSON file; `where` is what messages call it."""

    def __init__(self, fields: Mapping[str, object], where: str) -> None:
        self.where = where
        self._fields = fields

    def has(self, field: str) -> bool:
        """Whether there is such a field, perhaps an empty one."""
        return field in self._fields

    def known(self, field: str) -> bool:
        """Whether there is anything in a field that must be there."""
        return self._value(field) not in (None, "")

    def text(self, field: str) -> str:
        """A field that must not be empty."""
        value = self._filled(field)
        if not isinstance(value, str):
            raise self.wrong(field, "is no text")
        return value

    def number(self, field: str) -> float:
        """A finite number, 0 or more."""
        found = self._number(field)
        if found < 0:
            raise self.wrong(field, "is negative")
        return found

    def positive(self, field: str) -> float:
        """A finite number above 0."""
        found = self._number(field)
        if found <= 0:
            raise self.wrong(field, "is not above 0")
        return found

    def whole(self, field: str, *, least: int = 0) -> int:
        """A whole number that is not below `least`."""
        found = self._number(field)
        if found < least or found != int(found):
            raise self.wrong(field, f"is no whole number of {least} or more")
        return int(found)

    def numbers(self, field: str) -> list[float]:
        """A list of finite numbers, 0 or more, that is not empty."""
        values = _items(self._filled(field))
        if not values:
            raise self.wrong(field, "is no list of numbers, or an empty one")
        named = {f"{field}[{place}]": each for place, each in enumerate(values)}
        inside = Row(named, self.where)
        return [inside.number(name) for name in named]

    def part(self, field: str) -> "Row":
        """A JSON object in a field."""
        return object_of(self._filled(field), f"{self.where}, {field}")

    def parts(self, field: str, about: str = "") -> "list[Row]":
        """A list of JSON objects in a field."""
        return objects_of(self._filled(field), f"{self.where}, {field}", about)

    def wrong(self, field: str, what: str) -> SystemExit:
        """What to raise where a field makes no sense."""
        value = self._fields.get(field)
        shown = "" if value in (None, "") else f" {value!r}"
        return SystemExit(f"{self.where}: {field}{shown} {what}")

    def _number(self, field: str) -> float:
        value = self._filled(field)
        try:
            found = float(value) if isinstance(value, str | int | float) else math.nan
        except (ValueError, OverflowError):
            found = math.nan
        if not math.isfinite(found) or isinstance(value, bool):
            raise self.wrong(field, "is no finite number")
        return found

    def _filled(self, field: str) -> object:
        if not self.known(field):
            raise self.wrong(field, "is empty")
        return self._value(field)

    def _value(self, field: str) -> object:
        if field not in self._fields:
            raise self.wrong(field, "is missing")
        return self._fields[field]


def rows_in(path: Path, about: str = "") -> list[Row]:
    """The rows of a CSV file, perhaps gzip'ed; messages also give the column `about` of a row."""
    reader = csv.DictReader(io.StringIO(_text(path), newline=""))
    try:
        rows = [_row(path, reader.line_num, fields, about) for fields in reader]
    except csv.Error as error:
        raise SystemExit(f"{path}: line {reader.line_num}: {error}") from error
    if not rows:
        raise SystemExit(f"{path}: there are no rows")
    return rows


def _row(path: Path, line: int, fields: Mapping[str, object], about: str) -> Row:
    row = Row(fields, f"{path}: line {line}{_about(fields, about)}")
    # The key of what is beyond the header's columns.
    if cast("object", None) in fields:
        raise SystemExit(f"{row.where}: there are more fields than columns")
    return row


def json_in(path: Path) -> object:
    """What is in a JSON file, perhaps gzip'ed."""
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise SystemExit(f"{path}: {error}") from error


def object_of(found: object, where: str, about: str = "") -> Row:
    """A JSON object."""
    if not isinstance(found, dict):
        raise SystemExit(f"{where}: is no JSON object")
    fields = cast("dict[str, object]", found)
    return Row(fields, f"{where}{_about(fields, about)}")


def objects_of(found: object, where: str, about: str = "") -> list[Row]:
    """A list of JSON objects that is not empty."""
    items = _items(found)
    if not items:
        raise SystemExit(f"{where}: is no list of JSON objects, or an empty one")
    return [object_of(each, f"{where}[{place}]", about) for place, each in enumerate(items)]


def _items(found: object) -> list[object]:
    """What is in a list; nothing where it is none."""
    return cast("list[object]", found) if isinstance(found, list) else []


def _about(fields: Mapping[str, object], column: str) -> str:
    return f", {column} {fields[column]}" if fields.get(column) else ""


def _text(path: Path) -> str:
    try:
        written = path.read_bytes()
        return (gzip.decompress(written) if path.suffix == ".gz" else written).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise SystemExit(f"{path}: cannot be read: {error}") from error
