"""What others would place on the same day: gangs of the size that was asked for, in order.

A training job is a gang of as many pods as its owner asked for, all on GPUs of one type and all or
none; it starts as soon as a type has room, the fastest first, and who finds none lets others pass.
A service has as many replicas as a HorizontalPodAutoscaler would give it that aims at 70 % of what
a replica answers and takes none away within five minutes. A gang that loses a pod ends and waits in
its old place. Nobody gives notice: what was not saved is lost.

- First come, first served: all wait in the order of their submission, and nobody gives way.
- Priority preemption: the more important go first, and replicas and gangs that find no room stop
  gangs of lower priority, of the lowest the youngest, whatever that throws away.
- Static partitions: services have nodes of their own, as many as their highest rate needs, and
  training the others.
"""

import asyncio
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from plimsoll.observe.labels import JOB_UID, REPLICA, REVISION
from plimsoll_bench.day.autoscaler import Autoscaler, preferred
from plimsoll_bench.day.pods import asked_gpus, environment, pod_on
from plimsoll_bench.day.scene import PRIORITIES
from plimsoll_simulator.cluster.nodes import gpu_type_of, gpus_of_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import gpus_of, is_deleted, is_over, key_of, wanted_node
from plimsoll_simulator.programs.serving import Service, TrueService
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS, node_names
from plimsoll_simulator.twin import Twin

TURN_SECONDS = 10.0
TYPES = ("dgx-ext", "rtx", "aws")
"""GPU types, the fastest first."""
_Pods = Mapping[str, Sequence[Raw]]


@dataclass(frozen=True, slots=True)
class Rules:
    """`preempts`: whether priorities count. `of_services`: the nodes that are theirs alone."""

    preempts: bool = False
    of_services: frozenset[str] = frozenset()


def static_nodes(services: Iterable[TrueService]) -> frozenset[str]:
    """As many nodes of the type that each service prefers as its highest rate of the day needs."""
    wanted: dict[str, int] = {}
    for service in services:
        (gpu_type, answers), rates = preferred(service), service.requests
        peak = max(rate for _, rate in rates.spans(0.0, rates.times[-1]))
        wanted[gpu_type] = wanted.get(gpu_type, 0) + math.ceil(peak / answers)
    return frozenset(
        name
        for pool in SIA_POOLS
        for name in node_names(pool)[: math.ceil(wanted.get(pool.gpu_type, 0) / pool.gpus_per_node)]
    )


@dataclass(slots=True)
class _Room:
    """The free GPUs of each node that takes pods, by GPU type."""

    by_type: Mapping[str, dict[str, int]]

    def free(self, gpu_type: str) -> int:
        """All that a type has free."""
        return sum(self.by_type.get(gpu_type, {}).values())

    def fits(self, gpu_type: str, gpus: int) -> bool:
        """Whether a type has so many free."""
        return self.free(gpu_type) >= gpus

    def take(self, gpu_type: str, gpus: int) -> Iterator[str]:
        """The node of each of so many GPUs, on few nodes; they are free no more."""
        free = self.by_type[gpu_type]
        whole = [name for name, left in free.items() if left >= gpus]
        order = sorted(whole, key=lambda name: free[name]) or sorted(free, key=lambda n: -free[n])
        for name in order:
            taken = min(free[name], gpus)
            free[name] -= taken
            gpus -= taken
            yield from [name] * taken


@dataclass(slots=True)
class _Gang:
    """A training job's pods: how many there should be, and since when."""

    run: Run
    gpu_type: str
    pods: int
    since: float


@dataclass(slots=True)
class Rival:
    """Places pods on a twin by some rules."""

    twin: Twin
    rules: Rules
    _gangs: dict[str, _Gang] = field(default_factory=dict[str, _Gang])
    _revisions: dict[str, int] = field(default_factory=dict[str, int])
    _autoscaler: Autoscaler = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count what comes."""
        self._autoscaler = Autoscaler(self.twin.clock)

    async def operate(self) -> None:
        """Place pods until cancelled."""
        while True:
            self.turn()
            await asyncio.sleep(TURN_SECONDS)

    def turn(self) -> None:
        """Look at everything, and place what there is room for."""
        pods = self._pods()
        self._end_what_is_over(pods)
        for service in self.twin.serving.services():
            self._scale(service, pods.get(service.job.metadata.uid, []))
        # After the services: they have taken theirs.
        room, pods = self._room(of_services=False), self._pods()
        for run in self._waiting(pods):
            self._start(run, room, pods)

    # Training.

    def _waiting(self, pods: Mapping[str, object]) -> list[Run]:
        """The jobs without pods, in their order."""
        runs = [run for uid, run in self.twin.training.runs.items() if uid not in pods]
        left = [run for run in runs if run.account.completed is None]
        if self.rules.preempts:
            left.sort(key=lambda run: (-_priority(run), run.account.submitted))
        return left

    def _start(self, run: Run, room: _Room, pods: _Pods) -> None:
        gpus = asked_gpus(run)
        gpu_type = next((each for each in TYPES if room.fits(each, gpus)), None)
        if gpu_type is not None:
            self._place(run, gpu_type, [*room.take(gpu_type, gpus)])
        elif self.rules.preempts:
            self._make_room(TYPES, gpus, _priority(run), room, pods)

    def _make_room(
        self, types: Iterable[str], gpus: int, priority: int, room: _Room, pods: _Pods
    ) -> None:
        """Stop less important gangs of the first type on which that is enough, if there is one."""
        for gpu_type in types:
            stopped = [*self._in_the_way(gpu_type, gpus - room.free(gpu_type), priority)]
            if sum(self._gangs[uid].pods for uid in stopped) + room.free(gpu_type) >= gpus:
                for uid in stopped:
                    self._stop(uid, pods)
                return

    def _in_the_way(self, gpu_type: str, gpus: int, priority: int) -> Iterator[str]:
        """Gangs of lower priority that hold so many GPUs, of the lowest the youngest first."""
        less = [
            (_priority(gang.run), -gang.since, uid)
            for uid, gang in self._gangs.items()
            if gang.gpu_type == gpu_type and _priority(gang.run) < priority
        ]
        for *_, uid in sorted(less):
            if gpus <= 0:
                return
            gpus -= self._gangs[uid].pods
            yield uid

    def _place(self, run: Run, gpu_type: str, nodes: Sequence[str]) -> None:
        meta, count = run.job.metadata, len(nodes)
        self._gangs[meta.uid] = _Gang(run, gpu_type, count, self.twin.clock.monotonic())
        revision = self._next_revision(meta.uid)
        for replica, node in enumerate(nodes):
            labels = {REVISION: str(revision), REPLICA: str(replica)}
            name = f"{meta.name}-{revision}-{replica}"
            pod = pod_on(run.job, name, node, labels, environment(run, gpu_type))
            self.twin.api.create("pods", pod)

    def _end_what_is_over(self, pods: _Pods) -> None:
        """Forget gangs that are done, and end those that are no longer whole."""
        for uid, gang in [*self._gangs.items()]:
            if (
                gang.run.account.completed is not None
                or len(self._alive(pods.get(uid, ()))) < gang.pods
            ):
                self._stop(uid, pods)

    def _stop(self, uid: str, pods: _Pods) -> None:
        del self._gangs[uid]
        for pod in pods.get(uid, ()):
            self.twin.api.delete(key_of("pods", pod))

    def _next_revision(self, uid: str) -> int:
        self._revisions[uid] = self._revisions.get(uid, 0) + 1
        return self._revisions[uid]

    # Serving.

    def _scale(self, service: Service, pods: Sequence[Raw]) -> None:
        alive, wanted = self._alive(pods), self._autoscaler.replicas(service)
        for pod in alive[wanted:]:
            self.twin.api.delete(key_of("pods", pod))
        for _ in range(wanted - len(alive)):
            self._serve(service)

    def _serve(self, service: Service) -> None:
        """Add a replica, on the type that answers least and has room."""
        types = sorted(service.truth.answers, key=lambda each: service.truth.answers[each])
        room = self._room(of_services=True)
        gpu_type = next((each for each in types if room.fits(each, 1)), None)
        if gpu_type is not None:
            meta, [node] = service.job.metadata, room.take(gpu_type, 1)
            name = f"{meta.name}-{self._next_revision(meta.uid)}"
            self.twin.api.create("pods", pod_on(service.job, name, node, {}, {}))
        elif self.rules.preempts:
            self._make_room(types, 1, _priority(service), room, self._pods())

    # The cluster.

    def _pods(self) -> _Pods:
        """All pods, by the uid of their job."""
        found: dict[str, list[Raw]] = {}
        for pod in self.twin.api.all("pods"):
            found.setdefault(pod["metadata"]["labels"][JOB_UID], []).append(pod)
        return found

    def _alive(self, pods: Iterable[Raw]) -> list[Raw]:
        """The pods that are not told to end, on nodes that are there."""
        nodes = {node["metadata"]["name"] for node in self.twin.api.all("nodes")}
        return [pod for pod in pods if not is_deleted(pod) and wanted_node(pod) in nodes]

    def _room(self, *, of_services: bool) -> _Room:
        """What is free on the nodes of services, or on those of training."""
        by_type: dict[str, dict[str, int]] = {}
        places: dict[str, dict[str, int]] = {}
        theirs = self.rules.of_services
        for node in self.twin.api.all("nodes"):
            name = node["metadata"]["name"]
            if (not theirs or (name in theirs) == of_services) and not node["spec"].get("taints"):
                places[name] = by_type.setdefault(gpu_type_of(node), {})
                places[name][name] = gpus_of_node(node)
        for pod in self.twin.api.all("pods"):
            node = wanted_node(pod)
            if node in places and not is_over(pod):
                places[node][node] -= gpus_of(pod)
        return _Room(by_type)


def _priority(of: Run | Service) -> int:
    return PRIORITIES.get(of.job.spec.priority_class_name or "", 0)
