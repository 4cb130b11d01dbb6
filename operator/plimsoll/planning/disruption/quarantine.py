"""Find faulty nodes by their workers' failures and GPU errors, and release them for another try.

A worker fails because of its program or because of its node. If workers of several tenants fail on
one node, the node is at fault; a hardware error of a GPU needs no failures at all. A tenant can
make its own workers fail anywhere, so one tenant's evidence alone counts for nothing, and a job
that fails on many nodes is evidence against none. The evidence is in the jobs' statuses and in
Prometheus, and the end of a quarantine is in the value of its taint, so that nothing is forgotten
and no one else's taint is touched.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from plimsoll.api.placement_policy import Quarantine as Rules
from plimsoll.kube.objects.objects import Taint
from plimsoll.observe.nodes.notices import QUARANTINE_TAINT
from plimsoll.observe.snapshot import JobName, NodeView, Snapshot

_UNTIL = "until-%Y%m%dT%H%M%SZ"
NEVER = "never"
"""The label that, with this value, exempts a node from quarantine; named like the taint."""
LEAST_JOBS = 2
"""How many jobs must have failed on a node: one alone may itself be at fault."""
_LEAST_SHARE: Final = 2
"""A job is evidence against a node if at least one in so many of its failures was there."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Keep everything off a node until a time."""

    node: NodeView
    until: datetime
    message: str

    @property
    def taint(self) -> Taint:
        """The taint that does so."""
        value = self.until.astimezone(UTC).strftime(_UNTIL)
        return Taint(QUARANTINE_TAINT, "NoSchedule", value)


@dataclass(frozen=True, slots=True)
class Release:
    """Open a node again after its quarantine."""

    node: NodeView
    message: str

    @property
    def taint(self) -> Taint | None:
        """The taint to remove."""
        return quarantine_taint(self.node)


@dataclass(frozen=True, slots=True)
class _Failure:
    job: JobName
    message: str

    @property
    def namespace(self) -> str:
        """The namespace of the job concerned."""
        return self.job.split("/")[1]


def quarantine_changes(snapshot: Snapshot) -> Iterator[Quarantine | Release]:
    """The nodes to quarantine or release now."""
    rules = snapshot.policy.spec.quarantine if snapshot.policy else Rules()
    inside = [node for node in snapshot.nodes if quarantine_taint(node) is not None]
    broken = snapshot.gpu_faults if rules.gpu_faults else dict[str, str]()
    released = {
        node.name for node in inside if _is_over(node, snapshot.now) and node.name not in broken
    }
    yield from (
        Release(node, "its quarantine is over: it is tried again")
        for node in inside
        if node.name in released
    )
    room = max(1, len(snapshot.nodes) * rules.max_nodes_percent // 100)
    room -= len(inside) - len(released)
    known = {node.name for node in inside}
    faulty = [
        each
        for each in _faulty(snapshot, rules, broken)
        if each.node.name not in known and each.node.labels.get(QUARANTINE_TAINT) != NEVER
    ]
    yield from faulty[: max(0, room)]


def quarantine_taint(node: NodeView) -> Taint | None:
    """The taint that holds a node in quarantine, whoever set it."""
    return next((t for t in node.node.spec.taints if t.key == QUARANTINE_TAINT), None)


def _is_over(node: NodeView, now: datetime) -> bool:
    """Whether a quarantine of ours has ended; one declared by others has no end."""
    taint = quarantine_taint(node)
    try:
        until = datetime.strptime(taint.value if taint else "", _UNTIL).replace(tzinfo=UTC)
    except ValueError:
        return False
    return now >= until


def _faulty(snapshot: Snapshot, rules: Rules, broken: Mapping[str, str]) -> Iterator[Quarantine]:
    """The nodes with broken GPUs, then those with enough failures, most first."""
    until = snapshot.now.replace(microsecond=0) + rules.period
    for name, message in broken.items():
        yield Quarantine(snapshot.node_by_name[name], until, message)
    failures = _failures(snapshot, rules)
    for name in sorted(failures, key=lambda name: (-len(failures[name]), name)):
        node, against = snapshot.node_by_name.get(name), failures[name]
        if node is not None and name not in broken and _are_enough(against, rules):
            yield Quarantine(node, until, _sentence(against, rules))


def _failures(snapshot: Snapshot, rules: Rules) -> dict[str, list[_Failure]]:
    """The evidence against each node, by its name."""
    found: dict[str, list[_Failure]] = defaultdict(list)
    for job in snapshot.jobs:
        recent = [
            each
            for each in (job.training.status.failures if job.training else ())
            if snapshot.now - each.time < rules.within
        ]
        times = Counter(each.node for each in recent)
        for each in recent:
            if times[each.node] * _LEAST_SHARE >= len(recent):
                found[each.node].append(_Failure(job.name, each.message))
    return found


def _are_enough(failures: Sequence[_Failure], rules: Rules) -> bool:
    jobs = {failure.job for failure in failures}
    namespaces = {failure.namespace for failure in failures}
    return (
        0 < rules.failures <= len(failures)
        and len(jobs) >= LEAST_JOBS
        and len(namespaces) >= rules.distinct_namespaces
    )


def _sentence(failures: list[_Failure], rules: Rules) -> str:
    jobs = sorted({failure.job for failure in failures})
    minutes = int(rules.within.total_seconds() // 60)
    return (
        f"workers of {len(jobs)} jobs failed here {len(failures)} times within {minutes} min, the"
        f" last of {failures[-1].job}: it {failures[-1].message}"
    )
