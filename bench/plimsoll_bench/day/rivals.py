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
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from plimsoll.api.definition import API_VERSION
from plimsoll.observe.labels import JOB_KIND, JOB_UID, REPLICA, REVISION
from plimsoll_bench.day.scene import BATCH, GPUS, PRIORITIES, recorded
from plimsoll_simulator.cluster.nodes import gpu_type_of, gpus_of_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import gpus_of, is_deleted, is_over, key_of, wanted_node
from plimsoll_simulator.programs.serving import Service
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS, node_names
from plimsoll_simulator.twin import Twin

TURN_SECONDS = 10.0
TYPES = ("dgx-ext", "rtx", "aws")
"""GPU types, the fastest first."""
HPA_UTILISATION = 0.7
HPA_WINDOW_SECONDS = 120.0
HPA_STABILISATION_SECONDS = 300.0
GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Rules:
    """`preempts`: whether priorities count. `of_services`: the nodes that are theirs alone."""

    preempts: bool = False
    of_services: frozenset[str] = frozenset()


def static_nodes(services: Iterable[Service]) -> frozenset[str]:
    """As many nodes of the type that each service prefers as its highest rate of the day needs."""
    wanted: dict[str, int] = {}
    for service in services:
        gpu_type, answers = _preferred(service)
        rates = service.truth.requests
        peak = max(rate for _, rate in rates.spans(0.0, len(rates.rates) * rates.step_seconds))
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

    def fits(self, gpu_type: str, gpus: int) -> bool:
        """Whether a type has so many free."""
        return sum(self.by_type.get(gpu_type, {}).values()) >= gpus

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
    _wanted: dict[str, deque[tuple[float, int]]] = field(
        default_factory=dict[str, "deque[tuple[float, int]]"]
    )

    async def operate(self) -> None:
        """Place pods until cancelled."""
        while True:
            self.turn()
            await asyncio.sleep(TURN_SECONDS)

    def turn(self) -> None:
        """Look at everything, and place what there is room for."""
        self._end_what_is_over()
        for service in self.twin.serving.services():
            self._scale(service)
        for run in self._waiting():
            self._start(run)

    # Training.

    def _waiting(self) -> list[Run]:
        """The jobs without pods, in their order."""
        held = {pod["metadata"]["labels"][JOB_UID] for pod in self._pods()}
        runs = [run for uid, run in self.twin.training.runs.items() if uid not in held]
        left = [run for run in runs if run.account.completed is None]
        if self.rules.preempts:
            left.sort(key=lambda run: (-_priority(run), run.account.submitted))
        return left

    def _start(self, run: Run) -> None:
        gpus, room = _asked(run, GPUS), self._room(of_services=False)
        gpu_type = next((each for each in TYPES if room.fits(each, gpus)), None)
        if gpu_type is not None:
            self._place(run, gpu_type, [*room.take(gpu_type, gpus)])
        elif self.rules.preempts:
            for gpu_type in TYPES:
                if self._preempt(gpu_type, gpus, _priority(run)):
                    return

    def _preempt(self, gpu_type: str, gpus: int, priority: int) -> bool:
        """Stop less important gangs so that a type has room, if that is enough."""
        free = sum(self._room(of_services=False).by_type.get(gpu_type, {}).values())
        less = [
            (uid, gang)
            for uid, gang in self._gangs.items()
            if gang.gpu_type == gpu_type and _priority(gang.run) < priority
        ]
        less.sort(key=lambda pair: (_priority(pair[1].run), -pair[1].since))
        stopped: list[str] = []
        for uid, gang in less:
            if free >= gpus:
                break
            free += gang.pods
            stopped.append(uid)
        if free < gpus:
            return False
        for uid in stopped:
            self._stop(uid)
        return True

    def _place(self, run: Run, gpu_type: str, nodes: list[str]) -> None:
        meta = run.job.metadata
        revision = self._revisions[meta.uid] = self._revisions.get(meta.uid, 0) + 1
        batch, count = _asked(run, BATCH), len(nodes)
        local = -(-batch // count)
        passes = -(-local // recorded(run).application.timings[gpu_type].local_most_of_all)
        environment = {
            "WORLD_SIZE": count,
            "PLIMSOLL_LOCAL_BATCH": -(-local // passes),
            "PLIMSOLL_ACCUMULATION": passes,
        }
        self._gangs[meta.uid] = _Gang(run, gpu_type, count, self.twin.clock.monotonic())
        for replica, node in enumerate(nodes):
            name = f"{meta.name}-{revision}-{replica}"
            labels = {REVISION: str(revision), REPLICA: str(replica)}
            owner = _owner("TrainingJob", meta.namespace, meta.name, meta.uid)
            self.twin.api.create("pods", _pod(name, node, owner, labels, environment))

    def _end_what_is_over(self) -> None:
        """Forget gangs that are done, and end those that are no longer whole."""
        there: dict[str, int] = {}
        for pod in self._pods():
            uid = pod["metadata"]["labels"][JOB_UID]
            if not is_deleted(pod) and self._is_up(wanted_node(pod)):
                there[uid] = there.get(uid, 0) + 1
        for uid, gang in [*self._gangs.items()]:
            if gang.run.account.completed is not None or there.get(uid, 0) < gang.pods:
                self._stop(uid)

    def _stop(self, uid: str) -> None:
        self._gangs.pop(uid, None)
        for pod in [*self._pods()]:
            if pod["metadata"]["labels"][JOB_UID] == uid:
                self.twin.api.delete(key_of("pods", pod))

    # Serving.

    def _scale(self, service: Service) -> None:
        meta = service.job.metadata
        pods = [
            pod
            for pod in self._pods()
            if pod["metadata"]["labels"][JOB_UID] == meta.uid
            and not is_deleted(pod)
            and self._is_up(wanted_node(pod))
        ]
        wanted = self._replicas(service)
        for pod in pods[wanted:]:
            self.twin.api.delete(key_of("pods", pod))
        for _ in range(wanted - len(pods)):
            self._serve(service)

    def _serve(self, service: Service) -> None:
        """Add a replica, on the type that answers least and has room."""
        types = sorted(service.truth.answers, key=lambda each: service.truth.answers[each])
        room = self._room(of_services=True)
        gpu_type = next((each for each in types if room.fits(each, 1)), None)
        if gpu_type is not None:
            meta = service.job.metadata
            revision = self._revisions[meta.uid] = self._revisions.get(meta.uid, 0) + 1
            owner = _owner("InferenceJob", meta.namespace, meta.name, meta.uid)
            [node] = room.take(gpu_type, 1)
            self.twin.api.create("pods", _pod(f"{meta.name}-{revision}", node, owner, {}, {}))
        elif self.rules.preempts:
            priority = PRIORITIES[service.job.spec.priority_class_name or ""]
            next((each for each in types if self._preempt(each, 1, priority)), None)

    def _replicas(self, service: Service) -> int:
        """How many replicas an autoscaler would want now."""
        now, [role] = self.twin.clock.monotonic(), service.job.spec.roles
        rate = service.truth.requests.mean(now - HPA_WINDOW_SECONDS, now)
        wanted = math.ceil(rate / (HPA_UTILISATION * _preferred(service)[1]))
        wanted = min(max(wanted, role.replicas.min), role.replicas.max)
        recent = self._wanted.setdefault(service.job.metadata.uid, deque())
        recent.append((now, wanted))
        while now - recent[0][0] > HPA_STABILISATION_SECONDS:
            recent.popleft()
        return max(count for _, count in recent)

    # The cluster.

    def _pods(self) -> Iterable[Raw]:
        return self.twin.api.all("pods")

    def _is_up(self, node: str) -> bool:
        return any(each["metadata"]["name"] == node for each in self.twin.api.all("nodes"))

    def _room(self, *, of_services: bool) -> _Room:
        by_type: dict[str, dict[str, int]] = {}
        places: dict[str, dict[str, int]] = {}
        for node in self.twin.api.all("nodes"):
            name, is_theirs = node["metadata"]["name"], not self.rules.of_services
            is_theirs = (
                is_theirs or (node["metadata"]["name"] in self.rules.of_services) == of_services
            )
            if is_theirs and not node["spec"].get("taints"):
                free = by_type.setdefault(gpu_type_of(node), {})
                free[name] = gpus_of_node(node)
                places[name] = free
        for pod in self._pods():
            node = wanted_node(pod)
            if node in places and not is_over(pod):
                places[node][node] -= gpus_of(pod)
        return _Room(by_type)


def _preferred(service: Service) -> tuple[str, float]:
    """The GPU type that a service is scaled by, and what a replica answers there."""
    return min(service.truth.answers.items(), key=lambda pair: pair[1])


def _priority(run: Run) -> int:
    return PRIORITIES.get(run.job.spec.priority_class_name or "", 0)


def _asked(run: Run, annotation: str) -> int:
    return int(run.job.metadata.annotations[annotation])


def _owner(kind: str, namespace: str, name: str, uid: str) -> Raw:
    return {"kind": kind, "namespace": namespace, "name": name, "uid": uid}


def _pod(
    name: str, node: str, owner: Raw, labels: Mapping[str, str], environment: Mapping[str, int]
) -> Raw:
    """A pod with one GPU of a node."""
    gpu = {"nvidia.com/gpu": "1"}
    fields = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [fields]}]}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner["namespace"],
            "labels": {JOB_UID: owner["uid"], JOB_KIND: owner["kind"], **labels},
            "ownerReferences": [
                {"apiVersion": API_VERSION, **{key: owner[key] for key in ("kind", "name", "uid")}}
            ],
        },
        "spec": {
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            },
            "containers": [
                {
                    "name": "main",
                    "image": "recorded:1",
                    "env": [{"name": n, "value": str(v)} for n, v in environment.items()],
                    "resources": {"requests": gpu, "limits": gpu},
                }
            ],
        },
    }
