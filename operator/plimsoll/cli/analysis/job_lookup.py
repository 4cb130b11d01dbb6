"""Look up a job by name, with its kind in front if needed: `tj/train`."""

import difflib

from plimsoll.api.kinds import KINDS
from plimsoll.errors import BadInput
from plimsoll.observe.snapshot import JobView, Snapshot

_MOST_LISTED = 12


def job_called(snapshot: Snapshot, text: str, namespace: str | None) -> JobView:
    """The one job of that name. Raises BadInput, which names the candidates."""
    *before, name = text.split("/")
    kind = _kind(before[0]) if before else ""
    space = before[1] if len(before) > 1 else namespace or ""
    found = [
        view
        for view in snapshot.jobs
        if view.resource.metadata.name == name
        and kind in ("", view.resource.kind)
        and space in ("", view.resource.metadata.namespace)
    ]
    if len(found) == 1:
        return found[0]
    raise BadInput([_several(text, found) if found else _none(snapshot, text, name)])


def _kind(text: str) -> str:
    for kind in KINDS:
        names = kind.definition
        if text.lower() in (names.kind.lower(), names.plural, names.short_name):
            return names.kind
    raise BadInput([f"{text}/…: is not a kind of job: use trainingjob (tj) or inferencejob (ij)"])


def _several(text: str, found: list[JobView]) -> str:
    names = ", ".join(view.name for view in found)
    return f"{text}: is the name of several jobs: use one of {names}"


def _none(snapshot: Snapshot, text: str, name: str) -> str:
    there = sorted({view.resource.metadata.name for view in snapshot.jobs})
    near = difflib.get_close_matches(name, there, n=1)
    if near:
        return f"{text}: no such job: did you mean {near[0]}?"
    listed = ", ".join(there[:_MOST_LISTED]) + (", …" if len(there) > _MOST_LISTED else "")
    return f"{text}: no such job: use one of {listed}" if there else "there are no jobs"
