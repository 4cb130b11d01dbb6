"""Read CSV files whose columns are the fields of a model."""

import csv
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Generic, NamedTuple, TypeVar

from pydantic import BeforeValidator, ValidationError

from plimsoll.api.model import ApiModel, wire_name
from plimsoll.api.refusal_text import refusals
from plimsoll.errors import BadInput

T = TypeVar("T", bound=ApiModel)
LONGEST_SECONDS = 366 * 86_400.0
"""The longest time after the beginning: more is taken for a mistake, such as milliseconds."""


class Row(NamedTuple, Generic[T]):
    """What a line of a file says."""

    file: Path
    line: int
    content: T

    @property
    def where(self) -> str:
        """The line, as messages name it."""
        return f"{self.file}: line {self.line}"


def _moment(value: object) -> object:
    """A time as a trace has it: seconds, or a time of day with its offset from UTC."""
    text = str(value)
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        if not 0 <= seconds <= LONGEST_SECONDS:
            raise ValueError(_NO_TIME)
        return seconds
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(_NO_TIME) from None
    if time.tzinfo is None or time.year not in _YEARS:
        raise ValueError(_NO_TIME)
    return time


_YEARS = range(1900, 9000)  # what is counted from times must be times itself
_NO_TIME = "must be seconds since the beginning, or a time such as 2026-01-31T08:00:00Z"
Moment = Annotated[float | datetime, BeforeValidator(_moment)]
"""A time: seconds since the beginning, or a date and time."""


def rows(file: Path, model: type[T]) -> list[Row[T]]:
    """All lines of a file. Raises BadInput that names every line and column that is wrong."""
    known = {wire_name(name): field.is_required() for name, field in model.model_fields.items()}
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, strict=True)
            columns = reader.fieldnames or ()
            wrong = [f"column {name!r} is unknown" for name in columns if name not in known]
            wrong += [
                f"has no column {name!r}" for name in known if known[name] and name not in columns
            ]
            if wrong:
                raise BadInput([f"{file}: {each}: {_columns(known)}" for each in wrong])
            return [*_read(file, model, reader)]
    except OSError as error:
        raise BadInput([f"{file}: {error.strerror}"]) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadInput([f"{file}: is no CSV in UTF-8: {error}"]) from error


def _columns(known: dict[str, bool]) -> str:
    needed = ", ".join(name for name in known if known[name])
    others = ", ".join(name for name in known if not known[name])
    return f"needs {needed}, may have {others}" if others else f"needs {needed}"


def _read(file: Path, model: type[T], reader: "csv.DictReader[str]") -> Iterator[Row[T]]:
    wrong: list[str] = []
    for row in reader:
        line = reader.line_num
        if None in row:
            wrong.append(f"{file}: line {line}: has more cells than there are columns")
            continue
        given = {name: text.strip() for name, text in row.items() if text and text.strip()}
        try:
            yield Row(file, line, model.model_validate(given))
        except ValidationError as error:
            wrong += [f"{file}: line {line}: {each}" for each in refusals(error)]
    if wrong:
        raise BadInput(wrong)
