"""Find a job by the name that a user types: `train`, `tj/train` or `TrainingJob/team/train`.

What stands for a workload is also found by that one's: `train`, `job/train` or `Job/team/train`.
"""

from collections.abc import Mapping, Sequence
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


class Workload(NamedTuple):
    """What a job stands for, in the same namespace."""

    kind: str
    name: str


def job_named(text: str, namespace: str | None, there: Mapping[JobKey, Workload | None]) -> JobKey:
    """The one job of that name, or else the one that stands for the workload of that name.

    `there`: the jobs, each with the workload that it stands for. Raises NothingFound or BadInput,
    which name the candidates.
    """
    *before, name = text.split("/")
    space = before[1] if len(before) > 1 else namespace or ""
    within = {key: of for key, of in there.items() if space in ("", key.namespace)}
    asked = Workload(before[0] if before else "", name)
    found = [key for key, of in within.items() if of is not None and _is_asked_for(of, asked)]
    if not found or any(key.name == name for key in within):
        kind = _kind(asked.kind) if asked.kind else ""
        found = [key for key in within if key.name == name and kind in ("", key.kind)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(map(str, found))
        raise BadInput([f"{text}: is the name of several jobs: use one of {names}"])
    raise NothingFound([_none(text, name, sorted({each.name for each in there}))])


def _is_asked_for(workload: Workload, asked: Workload) -> bool:
    is_kind = asked.kind.lower() in ("", workload.kind.lower())
    return is_kind and workload.name == asked.name


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
