"""Which job held GPUs of which node, and which nodes there were, from when to when."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plimsoll.clock import Clock
from plimsoll.observe.labels import JOB_UID
from plimsoll_simulator.cluster.api_server import ApiServer, Change, Key
from plimsoll_simulator.cluster.nodes import gpu_type_of, gpus_of_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import gpus_of, is_over


@dataclass(frozen=True, slots=True)
class Stay:
    """GPUs of a node that a pod of a job held; times in seconds since the beginning.

    From its binding to its end, or that of its node.
    """

    job: str
    node: str
    gpus: int
    begins: float
    ends: float

    @property
    def gpu_seconds(self) -> float:
        """How much of the GPUs' time that was."""
        return self.gpus * (self.ends - self.begins)


@dataclass(frozen=True, slots=True)
class NodeLife:
    """A node while it was there; times in seconds since the beginning."""

    name: str
    gpu_type: str
    gpus: int
    begins: float
    ends: float


class Diary:
    """Notes all stays and nodes from now on."""

    def __init__(self, api: ApiServer, clock: Clock) -> None:
        self._clock = clock
        self._bound: dict[Key, tuple[Raw, float]] = {}
        self._up: dict[Key, tuple[Raw, float]] = {}
        self._stays: list[Stay] = []
        self._nodes: list[NodeLife] = []
        api.listen(self._heard)

    def stays(self) -> Iterator[Stay]:
        """Those that are over, as they ended, then those that go on, up to now."""
        yield from self._stays
        now = self._clock.monotonic()
        for pod, since in self._bound.values():
            yield _stay(pod, since, now)

    def nodes(self) -> Iterator[NodeLife]:
        """Those that are gone, as they went, then those that are there, up to now."""
        yield from self._nodes
        now = self._clock.monotonic()
        for node, since in self._up.values():
            yield _life(node, since, now)

    def _heard(self, change: Change) -> None:
        if change.key.plural == "pods":
            self._note_pod(change)
        elif change.key.plural == "nodes":
            self._note_node(change)

    def _note_pod(self, change: Change) -> None:
        pod, now = change.after, self._clock.monotonic()
        if pod is None or is_over(pod):
            if change.key in self._bound:
                self._end(change.key, now)
        elif _is_bound(change.before, pod) and _holds_gpus(pod):
            self._bound[change.key] = pod, now

    def _end(self, key: Key, now: float) -> None:
        pod, since = self._bound.pop(key)
        self._stays.append(_stay(pod, since, now))

    def _note_node(self, change: Change) -> None:
        now = self._clock.monotonic()
        if change.after is None:
            node, since = self._up.pop(change.key)
            self._nodes.append(_life(node, since, now))
            for key in [*self._bound]:
                if _node_of(self._bound[key][0]) == change.key.name:
                    self._end(key, now)
        elif change.before is None:
            self._up[change.key] = change.after, now


def by_job(stays: Iterable[Stay]) -> Mapping[str, Sequence[Stay]]:
    """The stays of each job that had any, in the same order; none of any other."""
    found: dict[str, list[Stay]] = defaultdict(list)
    for stay in stays:
        found[stay.job].append(stay)
    return found


def _is_bound(before: Raw | None, after: Raw) -> bool:
    """Whether a change bound a pod to a node."""
    return bool(_node_of(after)) and (before is None or not _node_of(before))


def _node_of(pod: Raw) -> str:
    return pod["spec"].get("nodeName", "")


def _holds_gpus(pod: Raw) -> bool:
    return JOB_UID in pod["metadata"].get("labels", {}) and gpus_of(pod) > 0


def _stay(pod: Raw, since: float, until: float) -> Stay:
    meta = pod["metadata"]
    job = f"{meta['namespace']}/{meta['ownerReferences'][0]['name']}"
    return Stay(job, _node_of(pod), gpus_of(pod), since, until)


def _life(node: Raw, since: float, until: float) -> NodeLife:
    return NodeLife(node["metadata"]["name"], gpu_type_of(node), gpus_of_node(node), since, until)
