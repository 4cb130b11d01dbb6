"""Volumes that only some nodes reach, such as disks of a zone, and the claims of jobs on them.

Kube-scheduler binds a pod with such a claim nowhere else, so plans must know.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from plimsoll.api.kinds import Job
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.kube.objects.objects import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
)
from plimsoll.observe.pod_templates import pod_templates
from plimsoll.remembered import once_for_each

Reach = Mapping[str, tuple[NodeSelectorTerm, ...]]
"""By claim, as `namespace/name`, the terms of which the node of a pod with it must meet one."""
_ZONE: Final = "topology.kubernetes.io/zone"
_ZONES_OF_DRIVERS: Final = frozenset(
    {
        "failure-domain.beta.kubernetes.io/zone",
        "topology.disk.csi.azure.com/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.gke.io/zone",
    }
)
"""Labels of nodes with the zone that storage drivers set some time after a node has come, if they
do; nodes that are still to be bought have none of them."""


def bound_to_nodes(volume: PersistentVolume) -> PersistentVolume | None:
    """The volume if it is some claim's and can be reached from some nodes only, else None."""
    affinity = volume.spec.node_affinity
    is_bound = volume.spec.claim_ref is not None and volume.status.phase == "Bound"
    return volume if is_bound and affinity is not None and affinity.required else None


def reach_of(volumes: Iterable[PersistentVolume]) -> Reach:
    """From where the claims can be reached that are bound to some nodes."""
    return dict(map(_reach, filter(bound_to_nodes, volumes)))


def claim_of(volume: PersistentVolume) -> str:
    """The claim of a volume, as `namespace/name`."""
    claim = volume.spec.claim_ref
    return f"{claim.namespace}/{claim.name}" if claim is not None else ""


def claims_of_job(job: Job) -> set[str]:
    """All claims of a job's pods, as `namespace/name`."""
    return {
        f"{job.metadata.namespace}/{claim}"
        for _, template in pod_templates(job)
        for claim in claims_of(template)
    }


@once_for_each
def claims_of(template: PodTemplate) -> tuple[str, ...]:
    """The names of the PersistentVolumeClaims that a template's pods mount."""
    volumes = cast("list[dict[str, Any]]", (template.spec.model_extra or {}).get("volumes", []))
    sources = (volume.get("persistentVolumeClaim") for volume in volumes)
    return tuple(str(source["claimName"]) for source in sources if source)


def _reach(volume: PersistentVolume) -> tuple[str, tuple[NodeSelectorTerm, ...]]:
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    return claim_of(volume), tuple(map(_by_zone, terms))


def _by_zone(term: NodeSelectorTerm) -> NodeSelectorTerm:
    """The term with the zone by the label that all nodes have."""
    expressions = tuple(map(_with_usual_key, term.match_expressions))
    return msgspec.structs.replace(term, match_expressions=expressions)


def _with_usual_key(requirement: NodeSelectorRequirement) -> NodeSelectorRequirement:
    is_zone = requirement.key in _ZONES_OF_DRIVERS
    return msgspec.structs.replace(requirement, key=_ZONE) if is_zone else requirement
