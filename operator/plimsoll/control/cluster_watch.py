"""Watch the objects that are not ours: one watch for each kind that plans depend on."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import (
    NAMESPACES,
    NODE_CLAIMS,
    NODES,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    PROVISIONING_REQUESTS,
    Resource,
)
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.sharing import NodeSharing, PodSharing
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.probe_server import stale_watches
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.served_watch import ServedWatch
from plimsoll.kube.watching.watch import ListWatch
from plimsoll.observe.adoption.asking import is_watched
from plimsoll.observe.adoption.kinds.adapter import Adapter
from plimsoll.observe.adoption.kinds.table import ADAPTERS
from plimsoll.observe.views.pods import DATED_CONDITIONS
from plimsoll.observe.volumes import bound_to_nodes
from plimsoll.supervision import Part

T = TypeVar("T", bound=KubeObject)


class ClusterWatch:
    """Nodes, pods, priority classes, disruption budgets, namespaces, volumes, and what to adopt.

    Also NodeClaims if it `buys_nodes`, and ProvisioningRequests in the namespace `requests_in`.
    `changed` is called after each batch of events.
    """

    def __init__(  # noqa: PLR0913 - what is watched, by name
        self,
        client: KubeClient,
        terms: WatchTerms,
        *,
        adopts_jobs: bool,
        buys_nodes: bool,
        requests_in: str | None,
        changed: Callable[[], None],
    ) -> None:
        def watch(
            resource: Resource,
            type_: type[T],
            keep: Callable[[T], T | None] = lambda item: item,
            namespace: str = "",
        ) -> ListWatch[T]:
            return ListWatch(
                client,
                resource,
                type_,
                keep=keep,
                namespace=namespace,
                changed=changed,
                terms=terms,
            )

        def if_served(
            resource: Resource,
            type_: type[T],
            keep: Callable[[T], T | None] = lambda item: item,
            namespace: str = "",
        ) -> ServedWatch[T]:
            def make() -> ListWatch[T]:
                return watch(resource, type_, keep, namespace)

            return ServedWatch(client, resource, make, changed=changed)

        def of_kind(adapter: Adapter[Any]) -> ServedWatch[Any]:
            return if_served(adapter.resource, adapter.type, _of_concern)

        self.nodes = watch(NODES, Node, NodeSharing())
        self.pods = watch(PODS, Pod, PodSharing(DATED_CONDITIONS))
        self.priority_classes = watch(PRIORITY_CLASSES, PriorityClass)
        self.budgets = watch(POD_DISRUPTION_BUDGETS, PodDisruptionBudget)
        self.namespaces = watch(NAMESPACES, Namespace)
        self.volumes = watch(PERSISTENT_VOLUMES, PersistentVolume, bound_to_nodes)
        # One that is never run would be reported as stale for ever.
        self._workloads = {each.type: of_kind(each) for each in ADAPTERS} if adopts_jobs else {}
        self._node_claims = if_served(NODE_CLAIMS, NodeClaim) if buys_nodes else None
        self._requests = (
            if_served(PROVISIONING_REQUESTS, ProvisioningRequest, namespace=requests_in)
            if requests_in is not None
            else None
        )

    @property
    def _all(self) -> tuple[ListWatch[Any] | ServedWatch[Any], ...]:
        found = (
            *(self.nodes, self.pods, self.volumes, self.namespaces),
            *(self.priority_classes, self.budgets),
        )
        ordered = (each for each in (self._node_claims, self._requests) if each is not None)
        return (*found, *self._workloads.values(), *ordered)

    def workloads(self) -> tuple[WorkloadObject, ...]:
        """What may be adopted, and what that has made."""
        return tuple(each for watch in self._workloads.values() for each in watch.objects.values())

    def wrote_workload(self, item: WorkloadObject) -> None:
        """Take in an adopted workload as written, before the watch reports it."""
        if type(item) in self._workloads:
            self._workloads[type(item)].applied(item)

    def node_claims(self) -> tuple[NodeClaim, ...] | None:
        """The nodes that were ordered, by whomever; None if they are not watched, or not served."""
        return _served(self._node_claims)

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """Take in an ordered node as written, before the watch reports it."""
        if self._node_claims is not None:
            self._node_claims.applied(claim)

    def provisioning_requests(self) -> tuple[ProvisioningRequest, ...] | None:
        """The requests for nodes, by whomever; None if they are not watched, or not served."""
        return _served(self._requests)

    def wrote_provisioning_request(self, request: ProvisioningRequest) -> None:
        """Take in a request for nodes as written, before the watch reports it."""
        if self._requests is not None:
            self._requests.applied(request)

    def parts(self) -> list[Part]:
        """The parts that keep them current while they run."""
        return [Part(f"watch of {watch.name}", watch.run) for watch in self._all]

    async def wait_synced(self) -> None:
        """Return when everything has been listed once."""
        await asyncio.gather(*(watch.wait_synced() for watch in self._all))

    def is_from(self, moment: float) -> bool:
        """Whether everything was listed at that monotonic moment or later; relists what was not."""
        late = [watch for watch in self._all if not watch.is_from(moment)]
        return not late

    def staleness(self, *, limit_seconds: float) -> list[str]:
        """What is not listed yet, or has not been confirmed current for longer than the limit."""
        return stale_watches(self._all, now=time.monotonic(), limit_seconds=limit_seconds)


def _served(watch: ServedWatch[T] | None) -> tuple[T, ...] | None:
    """What a watch has found; None if there is none, or the kind is not served."""
    return tuple(watch.objects.values()) if watch is not None and watch.is_served else None


def _of_concern(item: WorkloadObject) -> WorkloadObject | None:
    return item if is_watched(item) else None
