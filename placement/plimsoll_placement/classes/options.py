"""The ways in which jobs of a class can run anew: one option per GPU type and kind of domain.

An option says at which counts a gang may run there and what each count is worth. Counts without
room even in an empty cluster, and those that gain nothing more, are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from plimsoll_placement.classes.domain_options import DomainOption
from plimsoll_placement.classes.job_classes import JobClass
from plimsoll_placement.classes.node_classes import NodeClasses
from plimsoll_placement.model import GpuType, Job, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import WHOLE_PERCENT, crossing_percent

ROUNDING_MILLI = 2
"""How far interpolated yields may be off a straight line through rounding alone."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The node classes of an option that admit a role, and the most pods in one of its domains."""

    node_classes: tuple[int, ...]
    most_pods: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Equal steps by which a gang grows: how many, of how many replicas, each worth how much."""

    steps: int
    replicas: int
    worth: int


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One way to run a role of a class's jobs anew, with all pods of a gang in one domain option.

    A gang starts with `least` replicas, worth `worth`, and may grow by `segments`. For independent
    replicas `least` is 0 and only `most` matters.
    """

    role: Role
    gpu_type: GpuType
    domain_option: DomainOption
    node_classes: tuple[int, ...]
    least: int
    most: int
    worth: int
    segments: tuple[Segment, ...]


class Catalogue:
    """The options of job classes; capacity is looked up once for each kind of pod."""

    def __init__(self, problem: Problem, node_classes: NodeClasses) -> None:
        self.problem = problem
        self.node_classes = node_classes
        self._offers: dict[tuple[object, ...], Offer] = {}

    def of(self, job_class: JobClass) -> tuple[Option, ...]:
        """All options of a job class."""
        return tuple(self._gang(job_class) if job_class.job.gang else self._replicas(job_class))

    def least_of(self, job_class: JobClass) -> tuple[Option, ...]:
        """The same with gangs at their least size, ignoring their preferred level."""
        options = self.of(replace(job_class, jobs=(replace(job_class.job, preferred_level=None),)))
        return tuple(
            replace(option, most=option.least or option.most, segments=()) for option in options
        )

    def _gang(self, job_class: JobClass) -> Iterator[Option]:
        job, role = job_class.job, job_class.job.roles[0]
        second = job_class.weight * self.problem.weights.horizon_seconds
        for domain_option, gpu_type, percent in self._ways(job, role):
            offer = self._offer(job, role, gpu_type, domain_option)
            points = self._points(job_class, gpu_type, offer, percent)
            if points:
                (least, worth), (most, _) = points[0], points[-1]
                segments = tuple(_segments(points, ROUNDING_MILLI * second))
                yield Option(
                    role, gpu_type, domain_option, offer.node_classes, least, most, worth, segments
                )

    def _replicas(self, job_class: JobClass) -> Iterator[Option]:
        job = job_class.job
        for role in job.roles:
            for gpu_type in sorted(role.yields):
                offer = self._offer(job, role, gpu_type, self.node_classes.whole)
                most = min(role.counts[-1], offer.most_pods // role.pods_per_replica)
                if most:
                    domain_option = self.node_classes.whole
                    yield Option(role, gpu_type, domain_option, offer.node_classes, 0, most, 0, ())

    def _points(
        self, job_class: JobClass, gpu_type: GpuType, offer: Offer, percent: int
    ) -> list[tuple[int, int]]:
        """The counts that fit, up to the one that yields most, each with its worth."""
        role, horizon = job_class.job.roles[0], self.problem.weights.horizon_seconds
        yields = role.yields[gpu_type]
        best = yields.index(max(yields))
        return [
            (count, job_class.weight * (milli * horizon * percent // WHOLE_PERCENT))
            for count, milli in zip(role.counts[: best + 1], yields, strict=False)
            if count * role.pods_per_replica <= offer.most_pods
        ]

    def _ways(self, job: Job, role: Role) -> Iterator[tuple[DomainOption, GpuType, int]]:
        """The domain options of a gang on each type, with the percentage of its yield there."""
        required, preferred = job.required_level, job.preferred_level
        if role.counts[-1] * role.pods_per_replica == 1:
            required = preferred = None
        lost_percent = dict.fromkeys(sorted(role.yields), 0)
        if preferred is not None and (required is None or required < preferred):
            lost_percent = {t: crossing_percent(self.problem, job, t) for t in lost_percent}
            for domain_option in self.node_classes.domain_options[preferred]:
                yield from (
                    (domain_option, t, WHOLE_PERCENT) for t, lost in lost_percent.items() if lost
                )
        for domain_option in (
            (self.node_classes.whole,)
            if required is None
            else self.node_classes.domain_options[required]
        ):
            yield from (
                (domain_option, t, WHOLE_PERCENT - lost) for t, lost in lost_percent.items()
            )

    def _offer(self, job: Job, role: Role, gpu_type: GpuType, domain_option: DomainOption) -> Offer:
        key = (role.eligible, role.shape, gpu_type, job.spot_percent > 0, id(domain_option))
        if key not in self._offers:
            self._offers[key] = self._new_offer(job, role, gpu_type, domain_option)
        return self._offers[key]

    def _new_offer(
        self, job: Job, role: Role, gpu_type: GpuType, domain_option: DomainOption
    ) -> Offer:
        rooms: dict[int, int] = {}
        admitting: list[int] = []
        for place in domain_option.node_classes:
            node_class = self.node_classes.node_classes[place]
            if node_class.gpu_type != gpu_type or not node_class.admits(role):
                continue
            if node_class.node.spot and not job.spot_percent:
                continue
            room = np.minimum(node_class.room(role.shape), node_class.slots)
            if room.any():
                admitting.append(place)
                for row, pods in zip(node_class.rows.tolist(), room.tolist(), strict=True):
                    rooms[row] = rooms.get(row, 0) + pods
        most = max(
            (sum(rooms.get(row, 0) for row in rows) for rows in domain_option.domains), default=0
        )
        return Offer(tuple(admitting), most)


def _segments(points: list[tuple[int, int]], tolerance: int) -> Iterator[Segment]:
    """The steps between points, with equal ones merged."""
    alike: list[tuple[int, int]] = []
    for (before, low), (after, high) in pairwise(points):
        step = (after - before, high - low)
        if alike and (step[0] != alike[0][0] or abs(step[1] - alike[0][1]) > tolerance):
            yield _segment(alike)
            alike = []
        alike.append(step)
    if alike:
        yield _segment(alike)


def _segment(alike: list[tuple[int, int]]) -> Segment:
    return Segment(len(alike), alike[0][0], max(worth for _, worth in alike))
