"""How long services' pods take to start, as a metric."""

from collections.abc import Iterator
from typing import Final

from plimsoll.observe.snapshot import JobView, PodView, Snapshot
from plimsoll.vocabulary import metrics

_Labels = tuple[str, str, str]
_NOTHING: Final = frozenset[_Labels]()


class ServiceStarts:
    """Counts the starts of all services' pods; remembers which it has counted.

    Pods that served before it first looked are not counted: when is no longer known.
    """

    def __init__(self) -> None:
        self._started: frozenset[str] | None = None
        self._labels = _NOTHING

    def report(self, snapshot: Snapshot) -> None:
        """Count the pods that are ready for the first time; services that are gone are dropped."""
        pods = list(_pods(snapshot))
        before = self._started
        if before is None:
            before = frozenset(pod.uid for _, pod in pods if pod.served)
        for view, pod in pods:
            if pod.ready and pod.uid not in before and pod.created and pod.ready_since:
                took = (pod.ready_since - pod.created).total_seconds()
                metrics.SERVICE_START_SECONDS.labels(*_labels(view, pod)).observe(max(0.0, took))
        self._started = frozenset(pod.uid for _, pod in pods if pod.ready or pod.uid in before)
        self._drop_gone(snapshot)

    def forget(self) -> None:
        """Stop counting: another replica does."""
        self._started = None

    def _drop_gone(self, snapshot: Snapshot) -> None:
        present = frozenset(
            (view.inference.metadata.namespace, view.inference.metadata.name, role.name)
            for view in snapshot.jobs
            if view.inference is not None
            for role in view.inference.spec.roles
        )
        for labels in self._labels - present:
            metrics.SERVICE_START_SECONDS.remove(*labels)
        self._labels = present


def _pods(snapshot: Snapshot) -> Iterator[tuple[JobView, PodView]]:
    return (
        (view, pod) for view in snapshot.jobs if view.inference is not None for pod in view.pods
    )


def _labels(view: JobView, pod: PodView) -> _Labels:
    meta = view.resource.metadata
    return meta.namespace, meta.name, pod.role
