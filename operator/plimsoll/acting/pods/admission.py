"""Check that admission rules have left a pod as it was requested, where the plan depends on it.

Labels, sidecars, tolerations and so on may be added freely. What a plan depends on may not change:
the pod's owner, its node, what binds it and when, and its GPUs. Additional CPU or memory is read
from the pod itself and counted (see `plimsoll.planning.cluster.overhead`).
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from plimsoll.acting.pods.manifest import Manifest
from plimsoll.api.definition import GROUP
from plimsoll.kube.objects.objects import Pod, PodSpec
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.observe.labels import JOB_UID
from plimsoll.observe.views.pods import wanted_node

DEFAULT_SCHEDULER: Final = "default-scheduler"


def change_by_admission(requested: Manifest, made: Pod) -> str:
    """A change by an admission rule that the plan cannot live with; "" if there is none."""
    wanted = msgspec.convert(requested, Pod)
    found = next(_changes(wanted, made), "")
    if not found:
        return ""
    return (
        f"an admission rule changes pod {wanted.metadata.name}: {found};"
        f" exempt pods with the label {JOB_UID} from that rule"
    )


def _changes(requested: Pod, made: Pod) -> Iterator[str]:
    yield from _of_labels(requested, made)
    yield from _of_place(requested, made)
    yield from _of_scheduling(requested.spec, made.spec)
    yield from _of_devices(requested.spec, made.spec)


def _of_labels(requested: Pod, made: Pod) -> Iterator[str]:
    for name, value in requested.metadata.labels.items():
        if name.startswith(f"{GROUP}/") and made.metadata.labels.get(name) != value:
            yield f"the label {name}={value} is missing"


def _of_place(requested: Pod, made: Pod) -> Iterator[str]:
    node = wanted_node(requested)
    if made.spec.node_name not in ("", node):
        yield f"it is bound to node {made.spec.node_name} instead of {node}"
    if wanted_node(made) != node:
        yield f"its affinity no longer pins it to node {node}"


def _of_scheduling(requested: PodSpec, made: PodSpec) -> Iterator[str]:
    scheduler = requested.scheduler_name or DEFAULT_SCHEDULER
    if made.scheduler_name != scheduler:
        yield f"its scheduler is {made.scheduler_name} instead of {scheduler}"
    own = {gate.name for gate in requested.scheduling_gates}
    for gate in made.scheduling_gates:
        if gate.name not in own:
            yield f"scheduling gate {gate.name} holds it"


def _of_devices(requested: PodSpec, made: PodSpec) -> Iterator[str]:
    has = effective_requests(made).others
    for name, count in effective_requests(requested).others.items():
        if "/" in name and has.get(name) != count:
            yield f"it requests {has.get(name, 0)} {name} instead of {count}"
