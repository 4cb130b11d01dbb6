"""Everything that happened to the pods of a namespace, in the order in which it happened.

What must hold at every moment is checked over the whole of it afterwards.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from types import TracebackType
from typing import Self

from plimsoll_devcluster.histories.world import gpus_of, node_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.pod_lives import LABELS, label, name_of
from support.clusters.scene import SECONDS, Scene

START, END = "start-of-history", "end-of-history"

Moment = dict[str, Manifest]
"""The pods that were there, by name."""


class PodHistory:
    """Records from when it is made until it is looked at.

    Pods that nobody schedules mark where the record begins and ends.
    """

    def __init__(self, scene: Scene) -> None:
        self._api = scene.api
        self._path = f"/api/v1/namespaces/{scene.namespace}/pods"
        self._pool = ThreadPoolExecutor(1)
        self._events: list[tuple[str, Manifest]] = []
        self._begun = Event()
        self._mark(START)
        self._recording: Future[None] = self._pool.submit(self._record)
        if not self._begun.wait(SECONDS):
            raise TimeoutError("the watch of pods has not begun")

    def _record(self) -> None:
        for event in self._api.watch(self._path):
            pod = event["object"]
            match name_of(pod):
                case name if name == START:
                    self._begun.set()
                case name if name == END:
                    return
                case _:
                    self._events.append((event["type"], pod))

    def _mark(self, name: str) -> None:
        gate = {"name": f"{LABELS}test"}
        spec = {"containers": [{"name": "main", "image": "none"}], "schedulingGates": [gate]}
        self._api.create(self._path, {"metadata": {"name": name}, "spec": spec})

    def end(self) -> None:
        """Record what has happened up to now, and no more."""
        if not self._recording.done():
            self._mark(END)
        self._recording.result(SECONDS)

    def moments(self) -> Iterator[Moment]:
        """The pods after each event, the first one first."""
        self.end()
        there: Moment = {}
        for kind, pod in self._events:
            if kind == "DELETED":
                there.pop(name_of(pod), None)
            else:
                there[name_of(pod)] = pod
            yield dict(there)

    def created(self) -> list[Manifest]:
        """Each pod as it was created."""
        self.end()
        return [pod for kind, pod in self._events if kind == "ADDED"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
        self._pool.shutdown()


def most_gpus(history: PodHistory) -> dict[str, int]:
    """The most GPUs of each node that pods were bound to, or sent to, at one moment."""
    most: dict[str, int] = defaultdict(int)
    for moment in history.moments():
        for node, gpus in _gpus_by_node(moment).items():
            most[node] = max(most[node], gpus)
    return dict(most)


def _gpus_by_node(moment: Moment) -> Counter[str]:
    gpus: Counter[str] = Counter()
    for pod in moment.values():
        if pod["status"].get("phase") not in ("Succeeded", "Failed"):
            gpus[node_of(pod)] += gpus_of(pod)
    return gpus


def creations(history: PodHistory) -> Counter[tuple[str, str]]:
    """How often each pod was created, by its name and its revision."""
    ours = (pod for pod in history.created() if label(pod, "revision"))
    return Counter((name_of(pod), label(pod, "revision")) for pod in ours)


def is_ready(pod: Manifest) -> bool:
    """Whether a pod serves: it is ready, and nobody deletes it."""
    conditions = pod["status"].get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]
