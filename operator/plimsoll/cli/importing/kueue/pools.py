"""GPUPools of ResourceFlavors."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from plimsoll.api.definition import API_VERSION
from plimsoll.api.gpu_pool import MAX_TOPOLOGY_KEYS
from plimsoll.cli.importing.kueue.gpu_types import Counted
from plimsoll.cli.importing.kueue.objects import ResourceFlavor, Topology
from plimsoll.cli.importing.notes import Note, note
from plimsoll.kube.objects.objects import Labels

Raw = dict[str, Any]
_TERMS: Final[Mapping[tuple[str, str], str]] = {
    ("karpenter.sh/capacity-type", "spot"): "Spot",
    ("karpenter.sh/capacity-type", "reserved"): "Reserved",
    ("eks.amazonaws.com/capacityType", "SPOT"): "Spot",
    ("eks.amazonaws.com/capacityType", "CAPACITY_BLOCK"): "Reserved",
    ("cloud.google.com/gke-spot", "true"): "Spot",
    ("cloud.google.com/gke-preemptible", "true"): "Spot",
    ("cloud.google.com/gke-provisioning", "spot"): "Spot",
    ("cloud.google.com/gke-provisioning", "preemptible"): "Spot",
    ("kubernetes.azure.com/scalesetpriority", "spot"): "Spot",
}
_RECLAIMED: Final = re.compile("spot|preemptible", re.IGNORECASE)
_HOST: Final = "kubernetes.io/hostname"
_LONGEST_LEVEL: Final = 30


def gpu_pool(flavor: ResourceFlavor, counted: Counted, topology: Topology | None) -> Raw:
    """The manifest of a flavor's pool."""
    spec: Raw = {"nodeSelector": dict(flavor.spec.node_labels)}
    if counted.is_named:
        spec["gpuType"] = counted.types[0]
    terms = _terms(flavor.spec.node_labels)
    spec |= {"capacityType": terms} if terms else {}
    keys = [*_topology_keys(topology)] if topology else []
    spec |= {"topologyKeys": keys} if keys else {}
    meta = {"name": flavor.metadata.name}
    return {"apiVersion": API_VERSION, "kind": "GPUPool", "metadata": meta, "spec": spec}


def pool_notes(
    flavor: ResourceFlavor, counted: Counted, topologies: Mapping[str, Topology]
) -> Iterator[Note]:
    """What is not carried over of a flavor with GPUs, or has to be filled in."""
    labels, name = flavor.spec.node_labels, flavor.metadata.name
    if not counted.types or len(counted.types) > 1:
        many = f"are several, {', '.join(counted.types)}, and their limits are 0 for now"
        which = many if counted.types else "are unknown, and its queues' maxJobs is 0 for now"
        yield note(
            flavor,
            f"spec.nodeLabels: its nodes' GPU types {which}: name one with"
            f" --gpu-type {name}=TYPE, or write the quotas by hand",
        )
    elif counted.is_named and counted.types == (name,):
        yield note(
            flavor,
            "spec.nodeLabels: do not say which GPUs its nodes have: GPUPool and quotas call the"
            f" type {name}: name it with --gpu-type {name}=TYPE, or add the nodes with -f",
        )
    if not labels:
        text = "spec.nodeLabels: are empty, and a GPUPool needs a nodeSelector: write one by hand"
        yield note(flavor, text)
    if flavor.spec.tolerations:
        text = "spec.tolerations: are not added to pods: write them into the jobs' templates"
        yield note(flavor, text)
    if not _terms(labels) and any(map(_RECLAIMED.search, (name, *labels.values()))):
        text = "spec.nodeLabels: sound like spot nodes: set capacityType: Spot in the GPUPool if so"
        yield note(flavor, text)
    yield from _topology_notes(flavor, topologies)


def _topology_notes(flavor: ResourceFlavor, topologies: Mapping[str, Topology]) -> Iterator[Note]:
    name = flavor.spec.topology_name
    if not name:
        return
    if name not in topologies:
        yield note(flavor, f"spec.topologyName: there is no Topology {name}: add it")
    elif len(topologies[name].spec.levels) > MAX_TOPOLOGY_KEYS:
        text = f"spec.levels: a GPUPool has {MAX_TOPOLOGY_KEYS} at most: the widest are left out"
        yield note(topologies[name], text)


def _terms(labels: Labels) -> str | None:
    return next((_TERMS[each] for each in labels.items() if each in _TERMS), None)


def _topology_keys(topology: Topology) -> Iterator[Raw]:
    taken: set[str] = set()
    for level in topology.spec.levels[-MAX_TOPOLOGY_KEYS:]:
        name = _level_name(level.node_label, taken)
        taken.add(name)
        yield {"name": name, "label": level.node_label}


def _level_name(label: str, taken: Iterable[str]) -> str:
    """What jobs call a level: `rack` for `cloud.provider.com/topology-rack`."""
    last = label.rpartition("/")[2].lower()
    plain = re.sub("[^a-z0-9]+", "-", last.rpartition("topology-")[2] or last).strip("-0123456789")
    name = "host" if label == _HOST else plain[:_LONGEST_LEVEL].strip("-") or "level"
    number = 2
    while name in taken:
        name = f"{name[: _LONGEST_LEVEL - 3]}-{number}"
        number += 1
    return name


def overlap_notes(pools: Iterable[ResourceFlavor]) -> Iterator[Note]:
    """Pools whose nodes are also another's: a node belongs to one only."""
    those = [each for each in pools if each.spec.node_labels]
    for each in those:
        labels = each.spec.node_labels.items()
        others = [
            o.metadata.name for o in those if o is not each and labels <= o.spec.node_labels.items()
        ]
        if others:
            yield note(
                each,
                f"spec.nodeLabels: select nodes of {', '.join(others)} too: a node belongs to the"
                " first pool by name: add labels to nodeSelector",
            )
