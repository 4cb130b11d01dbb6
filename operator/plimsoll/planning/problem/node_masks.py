"""Say on which nodes the pods of a job may run, as bit masks: one bit for each node.

Masks are cached: they stay the same as long as the nodes' labels and taints do.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.stragglers import ReplacedWorker
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import Toleration
from plimsoll.observe.eligibility.eligibility import Constraints
from plimsoll.observe.eligibility.eligible_nodes import EligibleNodes
from plimsoll.observe.eligibility.placement_spec import plain_constraints, template_constraints
from plimsoll.observe.eligibility.steady import SteadyNodes
from plimsoll.observe.snapshot import NodeView
from plimsoll.observe.volumes import Reach, claims_of
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll_placement.model import Role

_ALL_TAINTS: Final = (Toleration(operator="Exists"),)


class NodeMasks:
    """The nodes as last seen, the first as the lowest bit."""

    def __init__(self) -> None:
        self._masks: dict[Constraints, int] = {}
        self._seen: tuple[object, ...] = ()
        self._nodes = EligibleNodes(())
        self._steady = SteadyNodes()
        self._places: dict[str, int] = {}
        self._unusable = 0
        self._reach: Reach = {}
        self.spot = 0
        """The nodes that are spot."""
        self.version = 0
        """Changes whenever masks may differ."""

    def see(self, nodes: tuple[NodeView, ...], cluster: Cluster) -> bool:
        """Record the nodes; return whether eligible ones may differ from those seen last."""
        self._unusable = _mask(not node.usable for node in cluster.nodes)
        spot = _mask(node.spot for node in cluster.nodes)
        lasting = self._steady.of(view.node for view in nodes)
        seen = (spot, *((node.metadata.name, node.metadata.labels, node.spec) for node in lasting))
        if seen == self._seen:
            return False
        self._seen, self.spot, self._nodes = seen, spot, EligibleNodes(lasting)
        self._places = {node.metadata.name: place for place, node in enumerate(lasting)}
        self._masks.clear()
        self.version += 1
        return True

    def see_storage(self, reach: Reach) -> set[str]:
        """Record from where claims can be reached; return those of which that is another now."""
        before, self._reach = self._reach, reach
        if before is reach:
            return set()
        return {c for c in before.keys() | reach.keys() if before.get(c) != reach.get(c)}

    def of(self, nodes: Iterable[str]) -> int:
        """The nodes of these names, as a bit mask."""
        places = (self._places.get(name) for name in set(nodes))
        return sum(1 << place for place in places if place is not None)

    def eligible(self, template: PodTemplate, namespace: str, *, gpus: bool = True) -> int:
        """The nodes whose labels and taints allow pods of this template, with GPUs or without.

        They reach the volumes of its claims, too.
        """
        found = self._meeting(
            template_constraints(template) if gpus else plain_constraints(template)
        )
        for claim in claims_of(template):
            terms = self._reach.get(f"{namespace}/{claim}")
            if terms is not None:
                found &= self._meeting(Constraints(terms=terms, tolerations=_ALL_TAINTS))
        return found

    def _meeting(self, constraints: Constraints) -> int:
        if constraints not in self._masks:
            self._masks[constraints] = self._nodes.mask(constraints)
        return self._masks[constraints]

    def at_present(
        self, resource: TrainingJob | InferenceJob, roles: tuple[Role, ...], now: datetime
    ) -> tuple[Role, ...]:
        """The roles, including nodes where they run and excluding those that refused them recently.

        A later taint or cordon does not make a pod leave that already runs.
        """
        placement = resource.status.placement
        places = placement.assignments if placement else ()
        here = {name for place in places for name in place.nodes}
        avoided = {each.node for each in resource.status.avoided_nodes if each.until > now}
        avoided |= self._slow_nodes(resource, here, now)
        less = self.of(avoided)
        more = {role.name: self._held(resource, role.name) for role in roles}
        if not less and all(more[role.name] & ~role.eligible == 0 for role in roles):
            return roles
        return tuple(replace(r, eligible=(r.eligible | more[r.name]) & ~less) for r in roles)

    def _held(self, resource: TrainingJob | InferenceJob, role: str) -> int:
        """The nodes that a role of a training job has; of a service, all that it has."""
        placement = resource.status.placement
        places = placement.assignments if placement else ()
        mine = (p for p in places if p.role == role or isinstance(resource, InferenceJob))
        return self.of(name for place in mine for name in place.nodes)

    def _slow_nodes(
        self, resource: TrainingJob | InferenceJob, here: AbstractSet[str], now: datetime
    ) -> set[str]:
        """The nodes that a gang left because they were slow, and is not moved back to.

        A job that needs a place may be put on one of them rather than wait.
        """
        held = self.of(here)
        if not here or not here <= self._places.keys() or held & self._unusable:
            return set()
        return {each.node for each in _replaced_workers(resource) if each.until > now} - here


def avoids_nodes(resource: TrainingJob | InferenceJob) -> bool:
    """Whether a job keeps off some node for a while, so that its masks depend on time."""
    return bool(resource.status.avoided_nodes or _replaced_workers(resource))


def _replaced_workers(resource: TrainingJob | InferenceJob) -> tuple[ReplacedWorker, ...]:
    return resource.status.replaced_workers if isinstance(resource, TrainingJob) else ()


def _mask(bits: Iterable[bool]) -> int:
    """An integer with one bit for each node, the first lowest."""
    text = "".join("1" if bit else "0" for bit in bits)
    return int(text[::-1], 2) if text else 0
