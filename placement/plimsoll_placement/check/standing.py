"""Placements as they were last verified, so that the next ones are verified where they differ.

All rules are applied to every job, node, queue and power domain that a difference touches: jobs
that are other objects, are placed otherwise, or are on a node that has changed, and the nodes that
such jobs are on or were on. Queues and power domains are looked at each time. What is verified
first differs in everything.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plimsoll_placement.check.job_rules import JOB_RULES
from plimsoll_placement.check.placed import PlacedJob, placed_job
from plimsoll_placement.check.shared_rules import NODE_RULES, SHARED_RULES, Taken, Totals
from plimsoll_placement.check.usage import (
    NodeUsage,
    Pod,
    milli_by_type,
    pods_by_node,
    usage_of,
)
from plimsoll_placement.check.violation import Rule, Violation
from plimsoll_placement.memory import changed_rows
from plimsoll_placement.model import (
    Assignments,
    DomainName,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    QueueName,
)
from plimsoll_placement.problem import Problem


@dataclass(frozen=True, slots=True)
class _Verified:
    """A job with its assignments, what is wrong with it alone, and what it takes where."""

    job: Job
    assignments: Assignments
    broken: tuple[Violation, ...]
    is_held: bool
    pods: Mapping[NodeName, list[Pod]]
    milli: Mapping[GpuType, int]
    queues: tuple[QueueName, ...]

    def is_of(self, job: Job, assignments: Assignments) -> bool:
        """Whether this job was verified with these assignments."""
        return self.job is job and (
            self.assignments is assignments or self.assignments == assignments
        )


class _Sums:
    """What jobs take of queues, and what nodes draw from power domains; changes are added."""

    def __init__(self) -> None:
        self.by_queue: defaultdict[tuple[QueueName, GpuType], int] = defaultdict(int)
        self.by_domain: defaultdict[DomainName, int] = defaultdict(int)
        self._drawn: dict[NodeName, tuple[tuple[DomainName, ...], int]] = {}

    def count(self, verified: _Verified, times: int) -> None:
        """Count a job once more (1) or less (-1) in its queues."""
        for gpu_type, milli in verified.milli.items():
            for queue in verified.queues:
                self.by_queue[queue, gpu_type] += times * milli

    def draw(self, node: Node, usage: NodeUsage) -> None:
        """Set what a node draws above idle."""
        domains, microwatts = self._drawn.pop(node.name, ((), 0))
        for domain in domains:
            self.by_domain[domain] -= microwatts
        microwatts = usage.draw_milli * node.busy_milliwatts
        if microwatts:
            self._drawn[node.name] = node.power_domains, microwatts
            for domain in node.power_domains:
                self.by_domain[domain] += microwatts

    def totals(self) -> Totals:
        """What it all comes to."""
        return Totals(self.by_queue, self.by_domain)


class Standing:
    """The placements last verified, with what they take; nothing at first."""

    def __init__(self) -> None:
        self._problem: Problem | None = None
        self._forget()

    def _forget(self) -> None:
        self._nodes: dict[NodeName, Node] = {}
        self._jobs: dict[JobName, _Verified] = {}
        self._guilty: set[JobName] = set()
        self._tenants: defaultdict[NodeName, dict[JobName, _Verified]] = defaultdict(dict)
        self._wrong: dict[NodeName, tuple[Violation, ...]] = {}
        self._all, self._held = _Sums(), _Sums()
        self._touched: set[NodeName] = set()

    def violations(
        self, problem: Problem, placements: Mapping[JobName, Assignments]
    ) -> tuple[Violation, ...]:
        """Everything that is wrong with these placements; empty if they are sound."""
        self._turn_to(problem)
        self._place(problem, placements)
        for name in self._touched:
            self._verify_node(self._nodes[name])
        self._touched.clear()
        return (
            *_unknown_jobs(problem, placements),
            *self._of_jobs(problem),
            *self._of_nodes(problem),
            *self._of_all(problem),
        )

    def _turn_to(self, problem: Problem) -> None:
        """Forget what is not as it was: jobs on nodes that have changed, or everything."""
        before, self._problem = self._problem, problem
        rows = None if before is None else changed_rows(before.nodes, problem.nodes)
        if before is None or rows is None or not _is_comparable(before, problem):
            self._forget()
            self._nodes = {node.name: node for node in problem.nodes}
            return
        for row in rows:
            node = problem.nodes[row]
            self._nodes[node.name] = node
            self._touched.add(node.name)
            for name in list(self._tenants[node.name]):
                self._remove(name)

    def _place(self, problem: Problem, placements: Mapping[JobName, Assignments]) -> None:
        """Verify every job that is not as it was, and is placed or is pinned and should be."""
        wanted = 0
        for job in problem.jobs:
            assignments = placements.get(job.name, ())
            if not assignments and not job.pinned:
                continue
            wanted += 1
            known = self._jobs.get(job.name)
            if known is None or not known.is_of(job, assignments):
                self._remove(job.name)
                self._add(problem, placed_job(job, assignments, self._nodes), assignments)
        if len(self._jobs) > wanted:
            mine = {job.name for job in problem.jobs if job.pinned or placements.get(job.name)}
            for name in self._jobs.keys() - mine:
                self._remove(name)

    def _add(self, problem: Problem, placed: PlacedJob, assignments: Assignments) -> None:
        job = placed.job
        verified = _Verified(
            job,
            assignments,
            tuple(_against_job(problem, placed)),
            placed.is_held,
            pods_by_node(placed),
            milli_by_type(placed),
            problem.queue_chain.get(job.queue, ()),
        )
        self._jobs[job.name] = verified
        if verified.broken:
            self._guilty.add(job.name)
        for name in verified.pods:
            self._tenants[name][job.name] = verified
        self._count(verified, 1)

    def _remove(self, name: JobName) -> None:
        verified = self._jobs.pop(name, None)
        if verified is None:
            return
        self._guilty.discard(name)
        for node in verified.pods:
            del self._tenants[node][name]
        self._count(verified, -1)

    def _count(self, verified: _Verified, times: int) -> None:
        self._touched.update(verified.pods)
        self._all.count(verified, times)
        if verified.is_held:
            self._held.count(verified, times)

    def _verify_node(self, node: Node) -> None:
        tenants = self._tenants[node.name].values()
        used = usage_of(pod for each in tenants for pod in each.pods[node.name])
        held = usage_of(pod for each in tenants if each.is_held for pod in each.pods[node.name])
        self._all.draw(node, used)
        self._held.draw(node, held)
        broken = tuple(
            Violation(rule, node.name, message)
            for rule, breaches in (NODE_RULES if used.pods else ())
            for message in breaches(node, used, held)
        )
        if broken:
            self._wrong[node.name] = broken
        else:
            self._wrong.pop(node.name, None)

    def _of_jobs(self, problem: Problem) -> Iterator[Violation]:
        for job in problem.jobs if self._guilty else ():
            if job.name in self._guilty:
                yield from self._jobs[job.name].broken

    def _of_nodes(self, problem: Problem) -> Iterator[Violation]:
        for node in problem.nodes if self._wrong else ():
            yield from self._wrong.get(node.name, ())

    def _of_all(self, problem: Problem) -> Iterator[Violation]:
        taken = Taken(problem, self._all.totals(), self._held.totals())
        for rule, broken in SHARED_RULES:
            for subject, message in broken(taken):
                yield Violation(rule, subject, message)


def _is_comparable(before: Problem, now: Problem) -> bool:
    """Whether jobs that are the same objects mean the same in both problems."""
    return before.levels == now.levels and (
        before.queues is now.queues or before.queue_chain == now.queue_chain
    )


def _unknown_jobs(
    problem: Problem, placements: Mapping[JobName, Assignments]
) -> Iterator[Violation]:
    known = {job.name for job in problem.jobs}
    for name, assignments in placements.items():
        if name not in known:
            message = f"no such job, yet {len(assignments)} replicas are placed for it"
            yield Violation(Rule.KNOWN_NAMES, name, message)


def _against_job(problem: Problem, placed: PlacedJob) -> Iterator[Violation]:
    name = placed.job.name
    if placed.is_held:
        return
    if placed.job.pinned:
        runs, got = len(placed.job.running), len(placed.replicas)
        message = f"pinned to its {runs} running replicas, the {got} placed are not these"
        yield Violation(Rule.PINNED, name, message)
    if placed.unknown:
        message = f"{len(placed.unknown)} unknown: {', '.join(placed.unknown)}"
        yield Violation(Rule.KNOWN_NAMES, name, message)
        return
    if placed.replicas:
        for rule, broken in JOB_RULES:
            for message in broken(problem, placed):
                yield Violation(rule, name, message)
