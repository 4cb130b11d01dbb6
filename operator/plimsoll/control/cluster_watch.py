"""Watch the objects that are not ours: one watch for each kind that plans depend on."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import (
    BATCH_JOBS,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.kube.objects.objects import (
    KubeObject,
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.objects.sharing import PodSharing, with_own_notes
from plimsoll.kube.probe_server import stale_watches
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.watch import ListWatch
from plimsoll.observe.adoption.batch_jobs import is_concern
from plimsoll.observe.views.pods import DATED_CONDITIONS
from plimsoll.supervision import Part

T = TypeVar("T", bound=KubeObject)


class ClusterWatch:
    """Nodes, pods, priority classes, disruption budgets, namespaces, and Jobs if they are adopted.

    `changed` is called after each batch of events.
    """

    def __init__(
        self,
        client: KubeClient,
        terms: WatchTerms,
        *,
        adopts_jobs: bool,
        changed: Callable[[], None],
    ) -> None:
        def watch(
            resource: Resource, type_: type[T], keep: Callable[[T], T | None] = lambda item: item
        ) -> ListWatch[T]:
            return ListWatch(client, resource, type_, keep=keep, changed=changed, terms=terms)

        self.nodes = watch(NODES, Node, with_own_notes)
        self.pods = watch(PODS, Pod, PodSharing(DATED_CONDITIONS))
        self.priority_classes = watch(PRIORITY_CLASSES, PriorityClass)
        self.budgets = watch(POD_DISRUPTION_BUDGETS, PodDisruptionBudget)
        self.namespaces = watch(NAMESPACES, Namespace)
        # One that is never run would be reported as stale for ever.
        self.jobs = watch(BATCH_JOBS, BatchJob, _of_concern) if adopts_jobs else None

    @property
    def _all(self) -> tuple[ListWatch[Any], ...]:
        found = (self.nodes, self.pods, self.priority_classes, self.budgets, self.namespaces)
        return (*found, self.jobs) if self.jobs is not None else found

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


def _of_concern(job: BatchJob) -> BatchJob | None:
    return job if is_concern(job) else None
