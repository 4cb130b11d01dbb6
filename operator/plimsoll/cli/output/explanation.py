"""The explanation of why a job waits, as text."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from plimsoll.cli.output.printing import place_text
from plimsoll.cli.output.report import JobLine, Place
from plimsoll.cli.output.results import EarliestStart, GivingWay, Lost, Remedy, Speed, Why
from plimsoll.naming import first_few
from plimsoll.vocabulary.reasons import Reason

_MOST_NAMED = 4
_MOST_LOSSES = 8
_TO_START = frozenset(
    {
        Reason.ADMITTED,
        Reason.STARTING,
        Reason.CANNOT_START,
        Reason.RESTARTING,
        Reason.WAITING_FOR_CAPACITY,
        Reason.NODE_REFUSED,
    }
)
"""Why jobs that have a place do not run there."""


def why_text(why: Why, width: int | None) -> str:
    """An explanation of a job, no wider than `width` unless a word is."""
    return "".join(f"{part}\n" for line in why_lines(why) for part in wrapped(line, width))


def wrapped(line: str, width: int | None) -> list[str]:
    """A line wrapped into parts, the later ones indented under its text."""
    if width is None or not line:
        return [line]
    text = line.lstrip(" ")
    indent = " " * (len(line) - len(text) + 2)
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def why_lines(why: Why) -> Iterator[str]:
    """The same line by line."""
    yield headline(why.job)
    if why.job.place and why.job.action != "Preempt":
        yield f"  {_what_it_does(why.job)}: {spots(why.job.place)}"
    if why.job.missing:
        yield f"  no room for {why.job.missing}"
    if why.job.purchase is not None:
        yield f"  {why.job.purchase.message}"
    if why.speeds:
        yield f"  speed: {speeds_text(why.speeds)}"
    if why.remedies:
        yield ""
        yield from _remedies(why.remedies)
    if why.giving_way is not None:
        yield ""
        yield from _giving_way(why.job, why.giving_way)
    if why.earliest_start is not None:
        yield ""
        yield from _start(why.earliest_start)


def headline(job: JobLine) -> str:
    """What happens to a job, in one line."""
    priority = "?" if job.priority is None else job.priority
    name = f"{job.kind} {job.namespace}/{job.name} (queue {job.queue}, priority {priority})"
    if job.place and job.action in ("Admit", "Keep") and not _is_to_start(job):
        return f"{name}: {job.action}"
    return f"{name}: {job.action}: {job.reason}: {job.message}"


def _what_it_does(job: JobLine) -> str:
    """What a job does in its place."""
    if job.action == "Admit":
        return "is to run"
    return "has its place" if _is_to_start(job) else "runs"


def _is_to_start(job: JobLine) -> bool:
    """Whether a job keeps its place and does not run there yet, or not any more."""
    return job.action == "Keep" and job.reason in _TO_START


def spots(places: Sequence[Place]) -> str:
    """Places in one line."""
    roles = {place.role for place in places}
    return "; ".join(
        f"{each.role}: {place_text(each)}" if len(roles) > 1 else place_text(each)
        for each in places
    )


def speeds_text(speeds: Sequence[Speed]) -> str:
    """How fast a job is on each GPU type, and what that rests on, in one line."""
    return "; ".join(map(_speed, speeds))


def _speed(speed: Speed) -> str:
    parts = [f"{speed.percent} % of the fastest"] if speed.percent is not None else []
    if speed.rate is not None:
        noun = "worker" if speed.workers == 1 else "workers"
        parts.append(f"{speed.rate:,.4g} {speed.unit} a second on {speed.workers} {noun}")
    return f"{speed.accelerator_type} {', '.join([*parts, speed.basis.lower()])}"


def _remedies(remedies: Sequence[Remedy]) -> Iterator[str]:
    each = "each of these" if len(remedies) > 1 else "this"
    yield f"What would let it run ({each} is enough, and no part of it is; verified by planning):"
    for remedy in remedies:
        nothing = "let others move" if remedy.displaced else "nothing: there is room for it"
        yield f"  - {' and '.join(remedy.changes) or nothing}"
        yield f"    then it runs on {spots(remedy.place)}{_provisos(remedy)}"


def _provisos(remedy: Remedy) -> str:
    moved = f", and {named(remedy.displaced)} must move or stop" if remedy.displaced else ""
    return moved + (", if the others stay where they are" if remedy.others_stay else "")


def _giving_way(job: JobLine, gives: GivingWay) -> Iterator[str]:
    is_raised = job.priority is not None and gives.priority > job.priority
    is_done = gives.pays and gives.gpu_hours_allowed is None
    would = " it would run at once" if is_done else ""
    at_priority = f" (at priority {gives.priority}{would})" if is_raised else ""
    yield f"Jobs that would have to give way{at_priority}:"
    for loss in gives.losses[:_MOST_LOSSES]:
        yield f"  - {_lost(loss)}"
    rest = len(gives.losses) - _MOST_LOSSES
    if rest > 0:
        yield f"  - and {rest} more"
    yield f"  {hours(gives.gpu_hours_lost)} of work would be lost in total."
    if not is_done:
        is_not = "Even then it would not be" if is_raised else "This is not"
        yield f"  {is_not} done: {_why(gives)}."


def _why(gives: GivingWay) -> str:
    """Why others do not give way."""
    if any(loss.priority > gives.priority and loss.gpu_hours_lost for loss in gives.losses):
        return "the unsaved work of a higher priority is never spent on a lower one"
    if gives.gpu_hours_allowed is not None:
        left = hours(gives.gpu_hours_allowed)
        return f"the policy's `disruptionBudgets` let plans throw away {left} at present"
    gained = f"{hours(gives.gpu_hours_gained)} gained in {gives.gain_hours:g} h"
    return f"{gained} are too little by the policy's `disruptionPrice`"


def _lost(loss: Lost) -> str:
    what = "would stop" if loss.stops else "would move or shrink"
    noun = "GPU" if loss.gpus == 1 else "GPUs"
    held = f"{loss.gpus:g} {noun}, {hours(loss.gpu_hours_lost)} of work lost"
    return f"{loss.job} (priority {loss.priority}) {what}: {held}"


def _start(start: EarliestStart) -> Iterator[str]:
    if not start.after:
        yield "Earliest start: now."
    else:
        yield f"Earliest start: {moment(start.at)}, when {named(start.after)} should have ended."
    if start.in_turn_at is None:
        yield "  Other waiting jobs go first; when its turn comes is not known."
    elif start.in_turn_at > start.at:
        yield f"  Other waiting jobs go first; its turn comes at {moment(start.in_turn_at)}."


def named(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    return first_few(names, _MOST_NAMED)


def hours(gpu_hours: float) -> str:
    """GPU-hours for people."""
    return f"{gpu_hours:,.2f} GPU-hours"


def moment(at: datetime) -> str:
    """A time for people, to the minute."""
    return at.strftime("%Y-%m-%d %H:%M %Z")


def second(at: datetime) -> str:
    """A time for people, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
