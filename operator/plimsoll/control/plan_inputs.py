"""Build plan inputs turn by turn; while nothing changes but the time, the last one stands a while.

That holds while every job has what it wants: what time alone changes then, such as what stopping a
job costs, is not news of the second. For jobs that wait, time may be what they wait for.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_placement.model import Job
from plimsoll_placement.placing.shortfall import missing

Arriving = Mapping[JobName, AbstractSet[str]]
"""The nodes that are there of those on which gangs will start once the others come."""


@dataclass(frozen=True)
class _Built:
    """A plan input, and all that it was built from."""

    snapshot: Snapshot
    arriving: Arriving
    faults: int
    plan_input: PlanInput

    @cached_property
    def nobody_waits(self) -> bool:
        """Whether all jobs have places for all that they want."""
        return not self.plan_input.holds and all(map(_has_all, self.plan_input.problem.jobs))


def _has_all(job: Job) -> bool:
    if job.gang:
        return bool(job.running)
    return not any(missing(role, job.running) for role in job.roles)


class PlanInputs:
    """Builds them, and remembers the last for so many seconds."""

    def __init__(self, builder: ProblemBuilder, *, seconds: float) -> None:
        self._builder, self._stands = builder, timedelta(seconds=seconds)
        self._built: _Built | None = None

    def of(self, snapshot: Snapshot, arriving: Arriving) -> PlanInput:
        """The plan input for a snapshot."""
        built = self._built
        if built is not None and self._still_stands(built, snapshot, arriving):
            return built.plan_input
        self._builder.reservations.arriving = arriving
        found = plan_input_of(snapshot, self._builder)
        self._built = _Built(snapshot, arriving, self._builder.faults.version, found)
        return found

    def forget(self) -> None:
        """Build the next one from nothing but its snapshot, and what was learned before."""
        self._built = None
        self._builder.forget()

    def is_new(self, snapshot: Snapshot) -> bool:
        """Whether the last plan input was built for this snapshot, not for an earlier one."""
        return self._built is not None and self._built.snapshot is snapshot

    def _still_stands(self, built: _Built, snapshot: Snapshot, arriving: Arriving) -> bool:
        age = snapshot.now - built.snapshot.now
        return (
            timedelta() <= age < self._stands
            and built.faults == self._builder.faults.version
            and built.arriving == arriving
            and snapshot.differs_only_in_time(built.snapshot)
            and built.nobody_waits
        )
