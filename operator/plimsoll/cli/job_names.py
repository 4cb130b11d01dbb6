"""Find a job by the name that a user types: `train`, `tj/train` or `TrainingJob/team/train`."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from plimsoll.api.kinds import KINDS
from plimsoll.cli.invocation import did_you_mean
from plimsoll.errors import BadInput, NothingFound

_MOST_LISTED: Final = 12


class JobKey(NamedTuple):
    """What identifies a job; as text it is its full name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


def job_named(text: str, namespace: str | None, there: Iterable[JobKey]) -> JobKey:
    """The one job of that name. Raises NothingFound or BadInput, which name the candidates."""
    *before, name = text.split("/")
    kind = _kind(before[0]) if before else ""
    space = before[1] if len(before) > 1 else namespace or ""
    there = [*there]
    found = [
        each
        for each in there
        if each.name == name and kind in ("", each.kind) and space in ("", each.namespace)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(map(str, found))
        raise BadInput([f"{text}: is the name of several jobs: use one of {names}"])
    raise NothingFound([_none(text, name, sorted({each.name for each in there}))])


def _kind(text: str) -> str:
    for kind in KINDS:
        names = kind.definition
        if text.lower() in (names.kind.lower(), names.plural, names.short_name):
            return names.kind
    raise BadInput([f"{text}/…: is not a kind of job: use trainingjob (tj) or inferencejob (ij)"])


def _none(text: str, name: str, there: Sequence[str]) -> str:
    if not there:
        return "there are no jobs"
    listed = ", ".join(there[:_MOST_LISTED]) + (", …" if len(there) > _MOST_LISTED else "")
    return f"{text}: no such job" + (did_you_mean(name, there) or f": use one of {listed}")
