"""Account for what pods take of nodes beyond their job's template.

Examples are the sidecars that a service mesh adds, or requests raised by an admission rule. Plans
count jobs by their templates; the overhead is subtracted from the nodes for as long as the pod
exists. Unbound pods do not count, since kube-scheduler may refuse them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from plimsoll.api.kinds import Job
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.eligibility.placement_spec import placement_spec
from plimsoll.observe.eligibility.requests import Requests, effective_requests
from plimsoll.observe.snapshot import JobView, NodeView, PodView
from plimsoll.planning.cluster.pod_requests import WORKER, besides_gpus
from plimsoll.planning.faults import Guard, unguarded
from plimsoll_placement.model import Amounts


@dataclass(frozen=True, slots=True)
class Overhead:
    """CPU, memory and other resources that a node's pods take beyond their templates."""

    cpu_millis: int = 0
    memory_bytes: int = 0
    others: Amounts = ()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self.cpu_millis > 0 or self.memory_bytes > 0 or bool(self.others)


ByNode = Mapping[str, Overhead]
NO_OVERHEAD: Final[ByNode] = {}


def without(node: NodeView, overhead: ByNode) -> NodeView:
    """A node reduced to what is left for templates."""
    found = overhead.get(node.name)
    if found is None:
        return node
    cpu, memory = node.cpu_millis - found.cpu_millis, node.memory_bytes - found.memory_bytes
    if not found.others:
        return replace(node, cpu_millis=cpu, memory_bytes=memory)
    units = Counter(node.unmanaged_units)
    units.update(dict(found.others))
    return replace(node, cpu_millis=cpu, memory_bytes=memory, unmanaged_units=units)


class Overheads:
    """Adds up overheads, recomputing only what has changed."""

    def __init__(self) -> None:
        self._templates: dict[str, tuple[object, dict[str, Requests]]] = {}
        self._known: dict[str, tuple[JobView, tuple[tuple[str, Overhead], ...]]] = {}

    def of(self, jobs: Iterable[JobView], guard: Guard = unguarded) -> ByNode:
        """The overhead by node; nodes without any are omitted."""
        before, self._known = self._known, {}
        templates, self._templates = self._templates, {}
        cpu: dict[str, int] = defaultdict(int)
        memory: dict[str, int] = defaultdict(int)
        others: dict[str, Counter[str]] = defaultdict(Counter)
        for view in jobs:
            known = before.get(view.uid)
            if view.uid in templates:
                self._templates[view.uid] = templates[view.uid]
            if known is None or known[0] is not view:
                known = (view, ())
                with guard(view):
                    known = (view, tuple(self._of_job(view)))
            self._known[view.uid] = known
            for node, overhead in known[1]:
                cpu[node] += overhead.cpu_millis
                memory[node] += overhead.memory_bytes
                if overhead.others:
                    others[node].update(dict(overhead.others))
        return {
            node: Overhead(cpu[node], memory[node], tuple(sorted(others[node].items())))
            for node in cpu
        }

    def _of_job(self, view: JobView) -> Iterator[tuple[str, Overhead]]:
        bound = [pod for pod in view.pods if pod.node and not pod.is_over]
        requested: Mapping[str, Requests] = self.by_role(view) if bound else {}
        for pod in bound:
            overhead = _beyond(pod, requested.get(pod.role))
            if overhead:
                yield pod.node, overhead

    def by_role(self, view: JobView) -> Mapping[str, Requests]:
        """What the pods of a job's roles request by their templates."""
        spec = view.resource.spec
        known = self._templates.get(view.uid)
        if known is None or known[0] is not spec:
            requested = {
                role: effective_requests(placement_spec(template))
                for role, template in _templates(view.resource)
            }
            known = self._templates[view.uid] = (spec, requested)
        return known[1]


def _templates(job: Job) -> Iterator[tuple[str, PodTemplate]]:
    if isinstance(job, TrainingJob):
        yield WORKER, job.spec.workers.template
        yield from ((role.name, role.template) for role in job.spec.roles)
    else:
        yield from ((role.name, role.template) for role in job.spec.roles)


def _beyond(pod: PodView, requested: Requests | None) -> Overhead:
    """What a pod takes beyond its template; nothing if its role no longer exists."""
    if requested is None:
        return Overhead()
    cpu = pod.requests.cpu_millis - requested.cpu_millis
    memory = pod.requests.memory_bytes - requested.memory_bytes
    others = (
        (name, amount - requested.others.get(name, 0))
        for name, amount in sorted(besides_gpus(pod.requests).items())
    )
    found = tuple(each for each in others if each[1] > 0)
    return Overhead(max(0, cpu), max(0, memory), found)
