"""Verify explanations: for random waiting jobs, apply each set of changes and plan again.

    python bench/explanations.py --instances 200 --seed 1

An instance is a small crowded cluster, planned, and one job that waits in it, chosen so that every
reason occurs. Every set of changes that is reported must let the job run in a sound plan, and no
subset of it may. The jobs reported to yield and the earliest start are planned again as well.
`failures` has to be zero throughout. `certain_percent`: the share of the sets for which bounds
prove that no subset suffices, rather than none having been found.
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from plimsoll_bench.output import print_json
from plimsoll_bench.placement.crowded import crowded
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import (
    Again,
    Ends,
    Explainer,
    GivingWay,
    Proof,
    Relaxation,
    Start,
    earliest_start,
    giving_way,
    proofs,
)
from plimsoll_placement.explain.again import Replanned
from plimsoll_placement.explain.proof import parts
from plimsoll_placement.model import Job, JobName
from plimsoll_placement.solve import solve

HOUR = 3600
FEWEST_REASONS = 5
"""No reason accounts for more than one instance in this many."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A job that waits, for this reason, and when the running jobs are known to end."""

    again: Again
    job: Job
    reason: str
    ends: Ends


@dataclass(frozen=True, slots=True)
class Explained:
    """What was reported of an instance, and how long that took."""

    instance: Instance
    proofs: tuple[Proof, ...]
    giving_way: GivingWay | None
    start: Start | None
    seconds: float


def main() -> None:
    """Explain, plan again, print."""
    parser = argparse.ArgumentParser(description="Are explanations true?")
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--effort", type=float, default=1.0, help="deterministic seconds for each plan"
    )
    options = parser.parse_args()
    found = instances(Random(options.seed), options.instances, Effort(options.effort))
    print_json(report([explained(instance) for instance in found]), indent=2)


def instances(rng: Random, count: int, effort: Effort) -> Iterator[Instance]:
    """This many instances, with each reason about as often as possible."""
    seen = Counter[str]()
    while seen.total() < count:
        problem = crowded(rng)
        placements = solve(problem, effort).placements
        explainer = Explainer(problem, placements)
        waiting = [job for job in problem.jobs if not placements.get(job.name)]
        if not waiting:
            continue
        reasons = {job.name: str(explainer.lack(job).reason) for job in waiting}
        job = min(waiting, key=lambda job: seen[reasons[job.name]])
        if seen[reasons[job.name]] > count // FEWEST_REASONS:
            continue
        seen[reasons[job.name]] += 1
        ends = {name: rng.randint(60, 10 * HOUR) for name in sorted(placements)}
        known = {name: end for name, end in ends.items() if rng.random() < 3 / 4}
        yield Instance(Again(problem, placements, effort), job, reasons[job.name], known)


def explained(instance: Instance) -> Explained:
    """Everything that is reported of a job on demand."""
    again, job = instance.again, instance.job
    started = time.perf_counter()
    found = proofs(again, job)
    gives = giving_way(again, job)
    start = earliest_start(again, job, instance.ends)
    return Explained(instance, found, gives, start, time.perf_counter() - started)


def failures(found: Explained) -> Iterator[str]:
    """What turns out differently from what was reported."""
    if not found.proofs:
        yield "no_set_found"
    for proof in found.proofs:
        yield from _failures_of(found.instance, proof)
    if found.giving_way is not None:
        urgent = replace(found.instance.job, priority=found.giving_way.priority)
        again = found.instance.again
        if not runs(again.plan(urgent)) and not runs(again.quick().plan(urgent)):
            yield "does_not_run_though_others_give_way"
    if found.start is not None:
        yield from _failures_of_start(found.instance, found.start.seconds)


def _failures_of(instance: Instance, proof: Proof) -> Iterator[str]:
    again = instance.again.firm() if proof.others_stay else instance.again
    for part in parts(proof.relaxation):
        suffices = runs(again.plan(instance.job, Relaxation(part)))
        if part == proof.relaxation.changes and not suffices:
            yield "set_does_not_suffice"
        if part != proof.relaxation.changes and suffices:
            yield "part_suffices"


def _failures_of_start(instance: Instance, seconds: int) -> Iterator[str]:
    def gone(until: int) -> list[JobName]:
        return [name for name, end in instance.ends.items() if end <= until]

    firm = instance.again.firm()
    if not runs(firm.plan(instance.job, gone=gone(seconds))):
        yield "does_not_run_at_its_earliest_start"
    if seconds and runs(firm.plan(instance.job, gone=gone(seconds - 1))):
        yield "could_start_earlier"


def runs(planned: Replanned) -> bool:
    """Whether the job runs in a plan that breaks no rule."""
    sound = not violations(planned.problem, planned.solution.placements)
    return sound and planned.runs


def report(found: list[Explained]) -> dict[str, object]:
    """All of it in numbers."""
    sets = [proof for each in found for proof in each.proofs]
    seconds = [each.seconds for each in found]
    broken = Counter(failure for each in found for failure in failures(each))
    return {
        "instances": len(found),
        "sets": len(sets),
        "failures": broken.total(),
        "failures_by_kind": dict(broken),
        "instances_by_reason": dict(Counter(each.instance.reason for each in found)),
        "instances_by_smallest_set": dict(
            Counter(len(each.proofs[0].relaxation.changes) for each in found if each.proofs)
        ),
        "changes_by_kind": dict(
            Counter(type(c).__name__ for proof in sets for c in proof.relaxation.changes)
        ),
        "certain_percent": round(100 * statistics.mean(p.is_certain for p in sets), 1),
        "only_where_others_stay": sum(proof.others_stay for proof in sets),
        "others_could_give_way": sum(each.giving_way is not None for each in found),
        "earliest_start_known": sum(each.start is not None for each in found),
        "median_seconds": round(statistics.median(seconds), 3),
        "max_seconds": round(max(seconds), 3),
    }


if __name__ == "__main__":
    main()
