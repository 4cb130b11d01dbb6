"""The TrainingJobs that would stand for workloads in files, as the operator would create them."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

import msgspec

from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.inputs.entries import Entry, Key, entries
from plimsoll.cli.inputs.manifests import Manifest, Problem, Unknown
from plimsoll.kube.objects.objects import KubeObject, Pod, SchedulingGate
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.observe.adoption.asking import is_concern
from plimsoll.observe.adoption.grouped_pods import GroupedPods
from plimsoll.observe.adoption.kinds.adapter import Candidate, asks_for_gpus
from plimsoll.observe.adoption.kinds.table import adapter_of
from plimsoll.observe.adoption.stand_ins import is_stand_in, stand_in_name
from plimsoll.observe.adoption.workloads import Workload, Workloads
from plimsoll.observe.labels import GATE, JOB_UID, QUEUE

_ANY_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Plans do not depend on when a workload was held."""


def stand_ins(
    given: Iterable[Entry], there: Mapping[Key, Entry], now: datetime
) -> Iterator[Entry | Problem]:
    """What would stand for each workload, or why nothing can; `there` is what the cluster holds."""
    asking = [
        (entry.manifest, entry.content)
        for entry in given
        if isinstance(entry.content, WorkloadObject) and is_concern(entry.content)
    ]
    if not asking:
        return
    contents = [each.content for each in there.values()]
    items = [each for each in contents if isinstance(each, WorkloadObject)]
    pods = GroupedPods().of(items, [each for each in contents if isinstance(each, Pod)])
    trainings = [each for each in contents if isinstance(each, TrainingJob)]
    matched = Workloads().of([*items, *pods], trainings).workloads
    found = {id(each.candidate.item): each for each in matched}
    for manifest, item in asking:
        yield from _stand_in(manifest, item, found.get(id(item)), there, now)


def _stand_in(
    manifest: Manifest,
    item: WorkloadObject,
    workload: Workload | None,
    there: Mapping[Key, Entry],
    now: datetime,
) -> Iterator[Entry | Problem]:
    name, namespace = stand_in_name(item), item.metadata.namespace
    stand_in = there.get(Key(TrainingJob.definition.kind, namespace, name))
    known = [stand_in.content] if stand_in and isinstance(stand_in.content, TrainingJob) else []
    if any(not is_stand_in(each, item) for each in known):
        what = f"TrainingJob {name} exists and stands for something else: rename one of them"
        yield manifest.problem(what)
        return
    if workload is None:
        yield manifest.problem("cannot be read: make it simpler")
    elif workload.problem is not None:
        yield manifest.problem(workload.problem.message)
    elif not workload.candidate.adapter.is_complete(workload.candidate):
        what = _what_it_lacks(workload.candidate)
        if what:
            yield Unknown(manifest.origin, f"{workload.candidate.title}: {what}")
    elif workload.wanted is not None:
        wanted = workload.wanted.manifest
        # Its users have set this, not the workload.
        kept = {"suspend": True} if any(each.spec.suspend for each in known) else {}
        made = {**wanted, "spec": {**wanted["spec"], **kept}}
        yield from entries(Manifest(manifest.origin, made), now)


def _what_it_lacks(candidate: Candidate) -> str:
    """Why it is not known what pods a workload has; "" if it runs, and goes on as it does."""
    if candidate.view.can_stop:
        return "its pods are known only once its controller has made them into a JobSet: apply it"
    said = candidate.adapter.awaits(candidate)
    return said.message if said is not None else ""


def pod_as_applied(pod: Pod, old: Resource | KubeObject | None) -> Pod:
    """A pod of a PodGroup as it is there already; a new one as the admission policy holds it."""
    spec, labels = pod.spec, pod.metadata.labels
    if spec.scheduling_group is None or not labels.get(QUEUE):
        return pod
    if isinstance(old, Pod):
        return old
    gates = {each.name for each in spec.scheduling_gates}
    if JOB_UID in labels or spec.node_name or GATE in gates or not asks_for_gpus(spec):
        return pod
    more = (*spec.scheduling_gates, SchedulingGate(GATE))
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(spec, scheduling_gates=more))


def as_applied(item: WorkloadObject, old: WorkloadObject | None) -> WorkloadObject:
    """A workload as its manifest leaves it, over the one that is there.

    A new one is held, as the admission policy and the operator hold it.
    """
    adapter = adapter_of(item)
    raw = _json(item)
    if old is None or type(old) is not type(item):
        _patch(raw, adapter.hold(adapter.candidate(item), _ANY_TIME))
        _merge(raw, adapter.suspension(suspend=True))
        return msgspec.convert(raw, type(item))
    there = {each.pointer: each for each in adapter.pod_sets(old, ())}
    for pods in adapter.pod_sets(item, ()):
        if pods.pointer in there:
            gates = there[pods.pointer].template.spec.scheduling_gates
            value = _json(gates)
            _patch(raw, [{"path": f"{pods.pointer}/spec/schedulingGates", "value": value}])
    _merge(raw, adapter.suspension(suspend=adapter.is_suspended(old)))
    raw["status"] = _json(old).get("status", {})
    found = msgspec.convert(raw, type(item))
    meta = msgspec.structs.replace(
        old.metadata, labels=item.metadata.labels, annotations=item.metadata.annotations
    )
    return msgspec.structs.replace(found, metadata=meta)


def _json(value: object) -> Any:  # noqa: ANN401 - any JSON
    """As JSON has it: with lists, which a patch changes, and not tuples."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _patch(raw: dict[str, Any], operations: Iterable[dict[str, Any]]) -> None:
    """Add what a JSON patch adds."""
    for operation in operations:
        *outer, last = operation["path"].removeprefix("/").split("/")
        place: Any = raw
        for name in outer:
            place = _inner(place, name)
        if isinstance(place, list):
            cast("list[Any]", place).append(operation["value"])
        else:
            place[last] = operation["value"]


def _inner(place: Any, name: str) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(place, list):
        return cast("list[Any]", place)[int(name)]
    return cast("dict[str, Any]", place).setdefault(name, {})


def _merge(raw: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for name, value in patch.items():
        if isinstance(value, dict):
            _merge(raw.setdefault(name, {}), cast("dict[str, Any]", value))
        else:
            raw[name] = value
