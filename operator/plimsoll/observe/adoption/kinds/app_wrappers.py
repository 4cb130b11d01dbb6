"""AppWrappers, which make what they wrap: Jobs, JobSets, PyTorchJobs, Ray clusters, each as it is.

While an AppWrapper is suspended nothing of that exists. So what is wrapped is read from its
template, by the adapter of its own kind, and its pods are gated by what the AppWrapper adds to
their templates: these themselves can never change.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar, cast

import msgspec

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.workload_parts import (
    WorkerTemplate,
    WorkloadCondition,
    WorkloadObject,
    condition_of,
)
from plimsoll.kube.objects.workloads.app_wrapper import (
    AppWrapper,
    AppWrapperStatus,
    ComponentStatus,
    PodSetInfo,
)
from plimsoll.observe.adoption.kinds.adapter import (
    Adapter,
    Candidate,
    PodSet,
    asks_for_gpus,
    gate_added,
    gate_removed,
    with_gpus,
)
from plimsoll.observe.adoption.kinds.batch_jobs import BatchJobs
from plimsoll.observe.adoption.kinds.job_sets import JobSets
from plimsoll.observe.adoption.kinds.kubeflow_jobs import PyTorchJobs
from plimsoll.observe.adoption.kinds.ray_clusters import RayClusters
from plimsoll.observe.adoption.kinds.ray_jobs import RayJobs
from plimsoll.observe.adoption.workload_view import Operation, Outcome, WorkloadView, failure
from plimsoll.observe.labels import GATE

T = TypeVar("T")
WRAPPED: Final[tuple[Adapter[Any], ...]] = (
    BatchJobs(),
    JobSets(),
    PyTorchJobs(),
    RayClusters(),
    RayJobs(),
)
"""The kinds whose pods AppWrapper's controller finds by itself, as far as they can be planned."""
_BY_KIND: Final = {(each.api_version, each.kind): each for each in WRAPPED}


class AppWrappers(Adapter[AppWrapper]):
    """AppWrappers; their number of pods is fixed, as nothing wrapped can change."""

    kind = "AppWrapper"
    resource = Resource("workload.codeflare.dev", "v1beta2", "appwrappers")
    type = AppWrapper
    own_managers = frozenset({"workload.codeflare.dev/appwrapper-controller"})
    makes = frozenset(_BY_KIND)

    def pod_sets(self, item: AppWrapper, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The pods of all that it wraps, with what it adds to their templates."""
        return tuple(pods for each in _wrapped(item) for pods in _pod_sets(each))

    def view(self, item: AppWrapper, children: Sequence[Candidate], /) -> WorkloadView:
        """How an AppWrapper stands; how many pods are left, what it has made says."""
        suspended, status = item.spec.suspend, item.status
        made = {(each.adapter.kind, each.item.metadata.name): each.view for each in children}
        views = [
            made.get((each.adapter.kind, each.name)) or each.adapter.view(each.item, ())
            for each in _wrapped(item)
        ]
        numbered_by = [each.numbered_by for each in views if each.parallelism]
        return WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=suspended,
            at_rest=suspended and status.phase == "Suspended",
            parallelism=sum(each.parallelism for each in views),
            due=sum(each.due for each in views),
            beside=sum(each.beside for each in views),
            since=None if suspended else _resumed(status.conditions),
            failures=status.resetting_count + sum(each.failures for each in views),
            outcome=_outcome(status),
            numbered_by=numbered_by[0] if len(numbered_by) == 1 else "",
        )

    def managed_by(self, item: AppWrapper) -> str:
        """Who runs it, if somebody else does."""
        return item.spec.managed_by

    def is_suspended(self, item: AppWrapper) -> bool:
        """Whether it is to run no pods."""
        return item.spec.suspend

    def is_over(self, item: AppWrapper) -> bool:
        """Whether it has completed or failed for good."""
        return _outcome(item.status) is not None

    def is_held(self, item: AppWrapper) -> bool:
        """Whether it adds our scheduling gate to any pods, without reading what it wraps."""
        infos = (info for each in item.spec.components for info in each.pod_set_infos)
        return any(gate.name == GATE for info in infos for gate in info.scheduling_gates)

    def problem(self, item: AppWrapper) -> str | None:
        """Why an AppWrapper cannot be planned, and the remedy."""
        return next(filter(None, map(_problem, _components(item))), None)

    def hold(self, candidate: Candidate, _: datetime, /) -> list[Operation]:
        """The JSON patch that has it add our scheduling gate to its pods with GPUs."""
        waits = {each.pointer for each in with_gpus(candidate.pod_sets) if not each.is_gated}
        found = _components(candidate.item)
        return [operation for each in found for operation in _gated(each, waits)]

    def ungate(self, candidate: Candidate) -> list[Operation]:
        """The JSON patch that has it add none."""
        return [
            operation
            for each in _components(candidate.item)
            for index, info in enumerate(each.infos)
            for operation in gate_removed(each.gates(index), info.scheduling_gates)
        ]


@dataclass(frozen=True, slots=True)
class _Component:
    """A component. `pointers` are where its pods' templates are, in the order of `infos`."""

    index: int
    template: Mapping[str, Any]
    infos: Sequence[PodSetInfo]
    pointers: Sequence[str]
    made_as: str

    @property
    def field(self) -> str:
        """Where a user finds what is wrapped."""
        return f"spec.components[{self.index}].template"

    @property
    def pointer(self) -> str:
        """Where a JSON patch finds it."""
        return f"/spec/components/{self.index}/template"

    @property
    def added(self) -> str:
        """Where a JSON patch finds what is added to its pods."""
        return f"/spec/components/{self.index}/podSetInfos"

    def gates(self, index: int) -> str:
        """Where a JSON patch finds the scheduling gates that are added to some of its pods."""
        return f"{self.added}/{index}/schedulingGates"

    @property
    def kind(self) -> str:
        """What it is; "" if it does not say."""
        return str(self.template.get("kind", ""))

    @property
    def adapter(self) -> Adapter[Any] | None:
        """The adapter of its kind; None if such objects cannot be planned."""
        return _BY_KIND.get((str(self.template.get("apiVersion")), self.kind))


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """A component whose kind can be planned, and the object that it wraps."""

    component: _Component
    adapter: Adapter[Any]
    item: WorkloadObject

    @property
    def name(self) -> str:
        """What it is called in the cluster."""
        return self.component.made_as or self.item.metadata.name


def _components(item: WorkloadObject) -> Iterator[_Component]:
    if not isinstance(item, AppWrapper):
        return
    states = item.status.component_status
    for index, each in enumerate(item.spec.components):
        state = states[index] if index < len(states) else ComponentStatus()
        yield _Component(
            index=index,
            template=each.template,
            infos=each.pod_set_infos,
            pointers=[_pointer(index, pods.path) for pods in state.pod_sets],
            made_as=state.name,
        )


def _pointer(index: int, path: str) -> str:
    """The pointer of a path such as `template.spec.replicatedJobs[0].template.spec.template`."""
    steps = path.replace("[", ".").replace("]", "").replace(".", "/")
    return f"/spec/components/{index}/{steps}"


def _wrapped(item: AppWrapper) -> Iterator[_Wrapped]:
    """What it wraps that can be read; why the rest cannot, `problem` says."""
    for each in _components(item):
        adapter = each.adapter
        if adapter is None:
            continue
        with suppress(msgspec.ValidationError):
            yield _Wrapped(each, adapter, _read(each.template, adapter.type))


def _read(template: object, kind: type[T]) -> T:
    """What is wrapped, or a part of it. Raises ValidationError."""
    return msgspec.convert(_without_nulls(template), kind)


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - JSON
    """What users wrap as they would write it: Kubernetes reads null as if nothing were there."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _without_nulls(each) for key, each in fields.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in cast("list[Any]", value)]
    return value


def _pod_sets(wrapped: _Wrapped) -> Iterator[PodSet]:
    of = wrapped.component
    infos = dict(zip(of.pointers, of.infos, strict=False))
    labels = wrapped.item.metadata.labels
    for pods in wrapped.adapter.pod_sets(wrapped.item, ()):
        pointer = f"{of.pointer}{pods.pointer}"
        yield replace(
            pods,
            field=f"{of.field}.{pods.field}",
            pointer=pointer,
            count_field=f"{of.field}.{pods.count_field}",
            template=_with(pods.template, infos.get(pointer)),
            made_by={**labels, **(pods.made_by or {})},
        )


def _with(template: WorkerTemplate, info: PodSetInfo | None) -> WorkerTemplate:
    """The template of pods as AppWrapper's controller makes it."""
    if info is None:
        return template
    spec = msgspec.structs.replace(
        template.spec,
        node_selector={**template.spec.node_selector, **info.node_selector},
        tolerations=(*template.spec.tolerations, *info.tolerations),
        scheduling_gates=(*template.spec.scheduling_gates, *info.scheduling_gates),
    )
    return msgspec.structs.replace(template, spec=spec)


def _problem(of: _Component) -> str | None:
    """Why a component cannot be planned, and the remedy."""
    adapter = of.adapter
    if adapter is None:
        return _problem_of_another_kind(of)
    try:
        item = _read(of.template, adapter.type)
    except msgspec.ValidationError as error:
        return f"{of.field}: is no {of.kind} that could be made: {error}: correct it"
    managed_by = adapter.managed_by(item)
    if managed_by and managed_by not in adapter.own_managers:
        return f"{of.field}: {managed_by} makes its pods, by managedBy: remove that field"
    if adapter.is_suspended(item):
        return (
            f"{of.field}.{adapter.suspend_name}: nobody would resume it: remove it, as the"
            " AppWrapper itself is suspended"
        )
    found = adapter.problem(item)
    return f"{of.field}.{found}" if found else None


def _problem_of_another_kind(of: _Component) -> str | None:
    """Why what Plimsoll does not know cannot be wrapped: its pods ask for GPUs."""
    # Until the controller has said where they are: it may be a pod, or have one template.
    for pointer in of.pointers or (of.pointer, f"{of.pointer}/spec/template"):
        try:
            pods = _read(_at(of, pointer), WorkerTemplate)
        except msgspec.ValidationError:
            continue
        if asks_for_gpus(pods.spec):
            kinds = ", ".join(each.kind for each in WRAPPED)
            return (
                f"{of.field}: the pods of a {of.kind} that asks for GPUs cannot be planned with an"
                f" AppWrapper: wrap one of {kinds}"
            )
    return None


def _at(of: _Component, pointer: str) -> Any:  # noqa: ANN401 - JSON
    """What is in a place of a component's template; None if there is nothing."""
    found: Any = of.template
    for step in filter(None, pointer.removeprefix(of.pointer).split("/")):
        try:
            found = found[int(step) if isinstance(found, list) else step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return found


def _gated(of: _Component, waits: Container[str]) -> Iterator[Operation]:
    """Add our gate to those pods of a component that are to wait for a place."""
    if not any(pointer in waits for pointer in of.pointers):
        return
    if not of.infos:
        yield {"op": "add", "path": of.added, "value": []}
    for index, pointer in enumerate(of.pointers):
        if index >= len(of.infos):
            value = {"schedulingGates": [{"name": GATE}]} if pointer in waits else {}
            yield {"op": "add", "path": f"{of.added}/-", "value": value}
        elif pointer in waits:
            yield gate_added(of.gates(index), of.infos[index].scheduling_gates)


def _resumed(conditions: Sequence[WorkloadCondition]) -> datetime | None:
    """When it began to make what it wraps, for the first time or anew; None if it has not."""
    deployed = condition_of(conditions, "ResourcesDeployed")
    return deployed.last_transition_time if deployed is not None else None


def _outcome(status: AppWrapperStatus) -> Outcome | None:
    said = {each.type: each for each in status.conditions}
    if status.phase == "Failed":
        why = said.get("Unhealthy")
        return failure(why.reason, why.message) if why else failure(status.phase, "")
    if status.phase == "Succeeded":
        why = said.get("QuotaReserved")
        return Outcome(failed=False, message=why.message if why else status.phase)
    return None
