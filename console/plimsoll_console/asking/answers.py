"""The answers, as the command line gives them; each runs in a process of its own."""

from collections.abc import Sequence
from datetime import datetime

from plimsoll.api.kinds import Job
from plimsoll.cli.analysis.comparison import simulation
from plimsoll.cli.analysis.remedies import Explaining
from plimsoll.cli.analysis.trial import trial
from plimsoll.cli.inputs.entries import Key
from plimsoll.cli.output.results import Simulation, Why
from plimsoll.observe.snapshot import JobName
from plimsoll_console.asking.parcel import Parcel, opened
from plimsoll_placement.effort import Effort


def explained(parcel: Parcel, now: datetime, name: str, seconds: float) -> Why | None:
    """Why a job waits and what would let it run; None if it is not there, or over."""
    effort = Effort(seconds)
    made = trial(opened(parcel), now, effort)
    view = made.snapshot.job_by_name.get(JobName(name))
    return None if view is None else Explaining(made, effort).why(view)


def simulated(parcel: Parcel, now: datetime, job: Job, seconds: float) -> Simulation:
    """What would change if a job were as given."""
    effort = Effort(seconds)
    meta = job.metadata
    others = (each for each in parcel.resources if each.metadata.uid != meta.uid)
    before = trial(opened(parcel), now, effort)
    after = trial(opened(parcel, (*others, job)), now, effort)
    return simulation(before, after, (Key(job.kind, meta.namespace, meta.name),))


def starts(
    parcel: Parcel, now: datetime, names: Sequence[JobName], seconds: float
) -> dict[JobName, datetime]:
    """When jobs that wait are expected to start, for those of which that is known."""
    effort = Effort(seconds)
    made = trial(opened(parcel), now, effort)
    explaining = Explaining(made, effort)
    found: dict[JobName, datetime] = {}
    for name in names:
        view = made.snapshot.job_by_name.get(name)
        start = None if view is None else explaining.earliest_start(view)
        if start is not None and start.in_turn_at is not None:
            found[name] = start.in_turn_at
    return found


def loaded() -> None:
    """Do nothing, in a process that has read all code by now."""
