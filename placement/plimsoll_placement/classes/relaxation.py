"""The problem as the model sees it: node classes instead of nodes, job classes instead of jobs.

Any sound placements are feasible here too, so none can be better than the best of this; the
converse need not hold, and `realise.py` finds nodes for what the model chooses.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plimsoll_placement.classes.job_classes import JobClass, admission_classes, job_classes, loads
from plimsoll_placement.classes.node_class import Load
from plimsoll_placement.classes.node_classes import (
    Alike,
    NodeClasses,
    by_power,
    by_price,
    node_classes,
)
from plimsoll_placement.classes.options import Catalogue, Option
from plimsoll_placement.model import Assignments, DomainName, Job, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import kept_and_admitted, worth
from plimsoll_placement.state.ledger import Ledger

MICRO_PER_MILLI = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """Node classes, job classes and the options of each; `pinned` are the jobs that are constants.

    `ledger` holds what is pinned and nothing else.
    """

    problem: Problem
    ledger: Ledger
    node_classes: NodeClasses
    job_classes: tuple[JobClass, ...]
    options: tuple[tuple[Option, ...], ...]
    pinned_loads: tuple[Load, ...]

    @property
    def pinned(self) -> Mapping[JobName, Assignments]:
        """What pinned jobs hold."""
        return self.ledger.placed

    @property
    def size(self) -> int:
        """Approximately how many variables the model has."""
        per_option = sum(
            2 + len(option.segments) + len(option.node_classes)
            for own in self.options
            for option in own
        )
        return per_option + sum(len(job_class.stays) for job_class in self.job_classes)

    def power_left(self) -> dict[DomainName, int]:
        """The microwatts of each power domain that pinned jobs leave."""
        left = {
            domain.name: (domain.budget_milliwatts - domain.base_milliwatts) * MICRO_PER_MILLI
            for domain in self.problem.power_domains
        }
        for load in self.pinned_loads:
            node = self.problem.nodes[load.row]
            for domain in set(node.power_domains) & set(left):
                left[domain] -= load.pods * load.shape.draw_milli * node.busy_milliwatts
        return {domain: max(0, microwatts) for domain, microwatts in left.items()}

    def kept_by_pinned(self, priority: int) -> int:
        """What pinned jobs of a priority keep running, in milli-GPUs."""
        pinned = (job for job in self._pinned_jobs() if job.priority == priority)
        return sum(kept_and_admitted(job, job.running)[0] for job in pinned)

    def sunk_worth(self) -> int:
        """The worth of what is pinned, less the loss if everything else were stopped."""
        problem, weights = self.problem, self.problem.priority_weight
        held = (worth(problem, j, j.running, weights[j.priority]) for j in self._pinned_jobs())
        return sum(held) - sum(
            job_class.size * job_class.stop_loss for job_class in self.job_classes
        )

    def _pinned_jobs(self) -> Iterator[Job]:
        return (job for job in self.problem.jobs if job.pinned and job.running)


def relaxation(problem: Problem) -> Relaxation:
    """Everything that can be chosen."""
    ledger, pinned = pinned_jobs(problem)
    catalogue = Catalogue(problem, _node_classes(problem, pinned, by_price(problem)))
    alike = job_classes(problem)
    options = tuple(map(catalogue.of, alike))
    return Relaxation(problem, ledger, catalogue.node_classes, alike, options, pinned)


def admission(problem: Problem) -> Relaxation:
    """Only what decides admission, at the least size: all levels of the score but the last."""
    ledger, pinned = pinned_jobs(problem)
    catalogue = Catalogue(problem, _node_classes(problem, pinned, by_power(problem)))
    alike = admission_classes(problem)
    options = tuple(map(catalogue.least_of, alike))
    return Relaxation(problem, ledger, catalogue.node_classes, alike, options, pinned)


def pinned_jobs(problem: Problem) -> tuple[Ledger, tuple[Load, ...]]:
    """What pinned jobs hold."""
    ledger, held = Ledger(problem), list[Load]()
    for job in problem.jobs:
        if job.pinned and job.running:
            ledger.hold(job)
            held += loads(problem, job, job.running)
    return ledger, tuple(held)


def _node_classes(problem: Problem, pinned: tuple[Load, ...], alike: Alike) -> NodeClasses:
    movable = [job for job in problem.jobs if not job.pinned]
    masks = {role.eligible for job in movable for role in job.roles}
    return node_classes(problem, masks, set(_levels(movable)), pinned, alike)


def _levels(jobs: list[Job]) -> Iterator[int]:
    """The topology levels that gangs of several pods ask for."""
    for job in jobs:
        for level in (job.required_level, job.preferred_level):
            if job.gang and level is not None:
                yield level
