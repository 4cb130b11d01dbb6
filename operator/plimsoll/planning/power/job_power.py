"""Correct a job's assumed draw by measurements of its own pods.

A training job draws what its pool's GPUs typically do, a decoding job less; but of two training
jobs, one keeps its GPUs busier than the other. The difference is learned per role, in percent of
the expectation from its class and its pools. For jobs not measured, only the corrections of pools
and domains apply.

Pools are corrected first, then jobs by their remaining difference: what all jobs have in common
becomes the pool's, and what is a job's own stays with it wherever it is placed next.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from plimsoll.api.kinds import Job as JobResource
from plimsoll.api.parts.role_power import RolePower
from plimsoll.api.values.amounts import to_decimal
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.cluster.power_model import WHOLE_PERCENT
from plimsoll.planning.power.history import (
    INTERVAL,
    SPEC_SECONDS,
    SURE_SECONDS,
    in_steps,
    mean_over_time,
)
from plimsoll.planning.power.role_draws import RoleDraw, role_draws
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll_placement.model import Role
from plimsoll_placement.problem import Problem

Powers = tuple[RolePower, ...]

CALM_INTERVAL: Final = 5 * INTERVAL
"""How often a job already measured for a while is measured: each time its status is written."""
LONGEST_GAP: Final = 2 * CALM_INTERVAL
"""A measurement never stands for more time than this."""
MEMORY_SECONDS: Final = 3600
"""Older observations count little, because jobs change."""
LEAST_SECONDS: Final = SPEC_SECONDS + 240
"""Plans use a job's own draw once it was measured for some minutes."""
STEP_PERCENT: Final = 3
LEAST_PERCENT, MOST_PERCENT = 25, 300
"""Beyond it something other than how busy a job keeps its GPUs is wrong."""
MOST_NEWS: Final = 32
"""The most jobs updated at a time, so that plans do not wait for these writes."""
_DIGITS: Final = 2


def with_measured_draw(role: Role, resource: JobResource) -> Role:
    """The role with its pods' measured draw, as far as it is known."""
    name, _ = whole_role(role.name)
    percents = (each.planned_percent for each in resource.status.power if each.role == name)
    percent = next(percents, WHOLE_PERCENT)
    if percent == WHOLE_PERCENT:
        return role
    draws = -(-role.shape.draw_milli * percent // WHOLE_PERCENT)
    return replace(role, shape=replace(role.shape, draw_milli=draws))


class JobPowers:
    """The power figures that jobs should report; derived from each reading once."""

    def __init__(self) -> None:
        self._reading: PowerReading | None = None
        self._found: Mapping[JobName, Powers] = {}

    def news(self, snapshot: Snapshot, problem: Problem) -> Mapping[JobName, Powers]:
        """The figures that jobs do not report yet, by name."""
        reading, known = snapshot.power, snapshot.job_by_name
        if reading is not None and reading.pods is not None and reading is not self._reading:
            self._reading, self._found = reading, job_powers(snapshot, problem)
        self._found = {
            name: powers
            for name, powers in self._found.items()
            if name in known and _is_newer(powers, known[name].resource.status.power)
        }
        return dict(list(self._found.items())[:MOST_NEWS])


def job_powers(snapshot: Snapshot, problem: Problem) -> Mapping[JobName, Powers]:
    """The measured draw of roles so far, for the jobs with new measurements."""
    found: dict[JobName, list[RolePower]] = defaultdict(list)
    if snapshot.power is None:
        return {}
    at = snapshot.power.measured_at.replace(microsecond=0)
    for (job, role), draw in role_draws(snapshot, problem).items():
        said = snapshot.job_by_name[job].resource.status.power
        before = next((each for each in said if each.role == role), None)
        if due := _due_seconds(before, at):
            found[job].append(_role_power(role, before, draw, due, at))
    return {job: _merged(snapshot.job_by_name[job], news) for job, news in found.items()}


def _is_newer(powers: Powers, said: Powers) -> bool:
    if not said:
        return True
    return max(p.observed_time for p in powers) > max(p.observed_time for p in said)


def _merged(view: JobView, news: list[RolePower]) -> Powers:
    """Some roles' new figures, merged with the known ones of the others."""
    by_role = {each.role: each for each in (*view.resource.status.power, *news)}
    return tuple(by_role[role] for role in sorted(by_role))


def _due_seconds(before: RolePower | None, at: datetime) -> int:
    """The seconds that a measurement stands for; 0 while the last one is too recent."""
    if before is None:
        return int(INTERVAL.total_seconds())
    passed = at - before.observed_time
    interval = INTERVAL if before.seconds < SURE_SECONDS else CALM_INTERVAL
    return 0 if passed < interval else int(min(passed, LONGEST_GAP).total_seconds())


def _role_power(
    role: str, before: RolePower | None, draw: RoleDraw, due: int, at: datetime
) -> RolePower:
    most = min(float(MOST_PERCENT), WHOLE_PERCENT * draw.most / draw.expected)
    seen = min(max(WHOLE_PERCENT * draw.measured / draw.expected, LEAST_PERCENT), most)
    seconds = before.seconds if before else SPEC_SECONDS
    known = float(before.percent) if before else float(WHOLE_PERCENT)
    percent = mean_over_time(known, seen, seconds, due)
    planned, seconds = before.planned_percent if before else WHOLE_PERCENT, seconds + due
    if seconds >= LEAST_SECONDS:
        planned = in_steps(planned, percent, STEP_PERCENT * percent / WHOLE_PERCENT)
    measured = draw.expected * percent / WHOLE_PERCENT
    return RolePower(
        role=role,
        expected_watts=round((draw.idle + draw.expected) / draw.gpus),
        measured_watts=round((draw.idle + measured) / draw.gpus),
        percent=to_decimal(percent, _DIGITS),
        planned_percent=planned,
        seconds=min(seconds, MEMORY_SECONDS),
        observed_time=at,
    )
