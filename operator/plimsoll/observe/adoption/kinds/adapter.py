"""One kind of workload: whose it is, which pods it has, how it stands, how it is held and let go.

Everything else about adopted workloads is the same for all kinds.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import Labels, PodSpec, SchedulingGate
from plimsoll.kube.objects.workload_parts import WorkerTemplate, WorkloadObject
from plimsoll.kube.watching.workloads import Reference
from plimsoll.observe.adoption.workload_view import Operation, Patch, WorkloadView, added, put
from plimsoll.observe.labels import GATE, QUEUE
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll.observe.queue_access import Refusal

T = TypeVar("T", bound=WorkloadObject)


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of a workload that are alike: `count` of them run at once.

    `field` is where a user finds their template, `count_field` their number, and `pointer` is where
    a JSON patch finds their template. They are `late` if they are made only once others run or have
    ended. `made_by`: the labels of the Jobs that make them, where the workload has a template of
    those.
    """

    field: str
    pointer: str
    count_field: str
    count: int
    template: WorkerTemplate
    late: bool = False
    made_by: Labels | None = None

    @property
    def gates(self) -> str:
        """Where a JSON patch finds the scheduling gates of their template."""
        return f"{self.pointer}/spec/schedulingGates"

    @property
    def is_gated(self) -> bool:
        """Whether they wait behind our scheduling gate."""
        return any(gate.name == GATE for gate in self.template.spec.scheduling_gates)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that may ask to be planned, as its kind's adapter reads it.

    `children` are what it has made, where its pods are not made by its own controller.
    """

    adapter: "Adapter[Any]"
    item: WorkloadObject
    children: tuple["Candidate", ...]
    pod_sets: tuple[PodSet, ...]
    view: WorkloadView

    @property
    def is_held(self) -> bool:
        """Whether all its pods with GPUs wait behind our scheduling gate."""
        return self.adapter.are_held(self)

    @property
    def title(self) -> str:
        """Its kind and name, as in a sentence."""
        return f"{self.adapter.kind} {self.item.metadata.name}"


class Adapter(ABC, Generic[T]):
    """One kind of workload.

    `own_managers`: the values of `spec.managedBy` that leave it to its own controller. `creators`:
    the owners, by apiVersion and kind, that only create such objects; all others suspend and resume
    them. None: whoever owns one leaves it alone. `makes`: what it makes, by apiVersion and kind,
    where that makes its pods; it `hands_on_labels` if that has all its labels, and is
    `named_by_pods` if these say which is theirs. Where nobody would make its pods again, it is left
    as it is once it has started (not `can_stop`). `to_resize` tells users what lets the size of
    such an object change. `suspend_field` is the path of the field that suspends it.
    """

    kind: ClassVar[str]
    resource: ClassVar[Resource]
    type: ClassVar[type[WorkloadObject]]
    own_managers: ClassVar[frozenset[str]] = frozenset()
    creators: ClassVar[frozenset[tuple[str, str]] | None] = frozenset()
    makes: ClassVar[frozenset[tuple[str, str]]] = frozenset()
    hands_on_labels: ClassVar[bool] = False
    named_by_pods: ClassVar[bool] = False
    can_stop: ClassVar[bool] = True
    suspend_field: ClassVar[tuple[str, ...]] = ("spec", "suspend")
    to_resize: ClassVar[str] = "create a TrainingJob instead"

    @property
    def api_version(self) -> str:
        """The `apiVersion` of such objects."""
        return self.resource.api_version

    @abstractmethod
    def pod_sets(self, item: T, children: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The pods that it is to run, by what they are."""

    @abstractmethod
    def view(self, item: T, children: Sequence[Candidate], /) -> WorkloadView:
        """How it stands."""

    @abstractmethod
    def managed_by(self, item: T) -> str:
        """Its `spec.managedBy`, "" without one."""

    @abstractmethod
    def is_suspended(self, item: T) -> bool:
        """Whether it is to run no pods."""

    @abstractmethod
    def is_over(self, item: T) -> bool:
        """Whether it has completed or failed for good."""

    def is_held(self, item: T) -> bool:
        """Whether pods of it wait behind our scheduling gate."""
        return any(each.is_gated for each in self.pod_sets(item, ()))

    def are_held(self, candidate: Candidate) -> bool:
        """Whether all pods of it with GPUs do."""
        return all(each.is_gated for each in with_gpus(candidate.pod_sets))

    def is_complete(self, candidate: Candidate) -> bool:  # noqa: ARG002 - for those who need it
        """Whether what its pods will be is known yet."""
        return True

    def awaits(self, candidate: Candidate) -> Refusal | None:  # noqa: ARG002 - for those who need it
        """What is to be said of pods that it lacks, or has too many of; None if nothing."""
        return None

    def problem(self, item: T) -> str | None:  # noqa: ARG002 - for those who need it
        """Why such an object cannot be planned, and the remedy; None if it can."""
        return None

    def suspension(self, *, suspend: bool) -> Patch:
        """The JSON merge patch that suspends it, or resumes it."""
        found: Patch = {}
        put(found, self.suspend_field, suspend)
        return found

    def resumption(self) -> Operation:
        """The step of a JSON patch that resumes it, once it has been suspended."""
        return added(self.suspend_field, value=False)

    @property
    def suspend_name(self) -> str:
        """The field that suspends it, as users write it."""
        return ".".join(self.suspend_field)

    def hold(self, candidate: Candidate, _: datetime, /) -> list[Operation]:
        """The JSON patch that puts our scheduling gate on its pods with GPUs, now."""
        waiting = (each for each in with_gpus(candidate.pod_sets) if not each.is_gated)
        return [gate_added(each.gates, each.template.spec.scheduling_gates) for each in waiting]

    def ungate(self, candidate: Candidate) -> list[Operation]:
        """The JSON patch that takes our scheduling gate away."""
        return [
            operation
            for each in candidate.pod_sets
            for operation in gate_removed(each.gates, each.template.spec.scheduling_gates)
        ]

    def let_go(self, candidate: Candidate) -> list[Operation]:
        """The JSON patch that takes our scheduling gate away and resumes it."""
        return [*self.ungate(candidate), self.resumption()]

    def candidate(self, item: T, children: Iterable[Candidate] = ()) -> Candidate:
        """An object and what it has made, as it is read."""
        of_it = tuple(children)
        view = replace(self.view(item, of_it), asks=asks(item), can_stop=self.can_stop)
        return Candidate(self, item, of_it, self.pod_sets(item, of_it), view)

    def reference(self, item: T) -> Reference:
        """What identifies an object."""
        meta = item.metadata
        return Reference(meta.namespace, self.api_version, self.kind, meta.name)


def asks(item: WorkloadObject) -> bool:
    """Whether a workload asks to be planned; an empty label is how one opts out."""
    return bool(item.metadata.labels.get(QUEUE))


def with_gpus(pod_sets: Iterable[PodSet]) -> list[PodSet]:
    """The pods that ask for GPUs."""
    return [each for each in pod_sets if asks_for_gpus(each.template.spec)]


def asks_for_gpus(spec: PodSpec) -> bool:
    """Whether a pod asks for GPUs."""
    containers = (*spec.containers, *spec.init_containers)
    asked = (
        (name, amount)
        for each in containers
        for name, amount in {**each.resources.requests, **each.resources.limits}.items()
    )
    return any(is_gpu_resource(name) and str(amount) != "0" for name, amount in asked)


def gate_added(path: str, gates: Sequence[SchedulingGate]) -> Operation:
    """Add our scheduling gate to those that a field has."""
    gate = {"name": GATE}
    if gates:
        return {"op": "add", "path": f"{path}/-", "value": gate}
    return {"op": "add", "path": path, "value": [gate]}


def gate_removed(path: str, gates: Sequence[SchedulingGate]) -> list[Operation]:
    """Remove our scheduling gate from those that a field has."""
    places = [index for index, gate in enumerate(gates) if gate.name == GATE]
    return [{"op": "remove", "path": f"{path}/{index}"} for index in reversed(places)]
