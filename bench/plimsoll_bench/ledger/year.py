"""Jobs that come and go on a cluster, hour by hour, as consoles would see them.

Each job has one pod. Times are drawn to the second; what a pod held is known exactly.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from plimsoll_console.ledger.accounting.observation import (
    MS_PER_HOUR,
    Account,
    Devices,
    Holding,
    Observation,
    Place,
    SeenNode,
)

FIRST_HOUR: Final = 490_896
"""The first of January 2026."""
GPUS_PER_NODE: Final = 8
HOURS_PER_DAY: Final = 24
_GPU: Final = "nvidia.com/gpu"
_TYPES: Final = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB", "NVIDIA-L40S", "NVIDIA-L4")
_OPTIONS: Final = ("OnDemand", "Spot")
_QUEUES, _NAMESPACES, _USERS = 40, 120, 300
_SIZES: Final = (250, 500, 1000, 1000, 1000, 2000, 4000, 8000)
_MEAN_HOURS: Final = 3.0
_MS_PER_SECOND: Final = 1000
_USE_OF_CLUSTER: Final = 0.75


@dataclass(frozen=True, slots=True)
class Size:
    """How many jobs come, and how long it goes on."""

    jobs_per_day: int
    days: int
    seed: int = 1

    @property
    def nodes(self) -> int:
        """So many that about three of four GPUs are in use."""
        gpus = sum(_SIZES) / len(_SIZES) / 1000
        busy = self.jobs_per_day / HOURS_PER_DAY * _MEAN_HOURS * gpus
        return max(len(_TYPES) * len(_OPTIONS), round(busy / _USE_OF_CLUSTER / GPUS_PER_NODE))


class Year:
    """The cluster as it goes on. `held_milli_ms` is what each job's pod has held, by its number."""

    def __init__(self, size: Size) -> None:
        self._size, self._random = size, Random(size.seed)
        self.nodes = tuple(map(_node, range(size.nodes)))
        self._free = [GPUS_PER_NODE * 1000] * size.nodes
        self._running: dict[int, Holding] = {}
        self._ends: dict[int, list[int]] = defaultdict(list)
        self._numbers = {node.uid: number for number, node in enumerate(self.nodes)}
        self.held_milli_ms: list[int] = []
        self.not_placed = 0

    @property
    def node_milli_ms(self) -> int:
        """What all nodes' GPUs had in an hour."""
        return len(self.nodes) * GPUS_PER_NODE * 1000 * MS_PER_HOUR

    def first(self) -> Observation:
        """The empty cluster."""
        return Observation(FIRST_HOUR * MS_PER_HOUR, self.nodes)

    def days(self) -> Iterator[Observation]:
        """The cluster at the end of each day; pods that ended within it are still told."""
        per_hour = self._size.jobs_per_day / HOURS_PER_DAY
        due, told = 0.0, list[Holding]()
        for hour in range(FIRST_HOUR, FIRST_HOUR + self._size.days * HOURS_PER_DAY):
            over = [self._end(number) for number in self._ends.pop(hour, [])]
            due += per_hour
            while due >= 1:
                over += self._begin(hour)
                due -= 1
            for pod in over:
                self._leave(pod)
            told += over
            if (hour + 1) % HOURS_PER_DAY == 0:
                at_ms = (hour + 1) * MS_PER_HOUR
                yield Observation(at_ms, self.nodes, (*self._running.values(), *told))
                told.clear()

    def finish(self, at_ms: int) -> None:
        """Count what still runs up to then."""
        for number, pod in self._running.items():
            self.held_milli_ms[number] = pod.milli * (at_ms - pod.since_ms)

    def _begin(self, hour: int) -> list[Holding]:
        """Start a job if it fits; the pod if it also ends within the hour."""
        random, number = self._random, len(self.held_milli_ms)
        milli = random.choice(_SIZES)
        node = self._room(milli)
        if node is None:
            self.not_placed += 1
            return []
        since = hour * MS_PER_HOUR + random.randrange(3600) * _MS_PER_SECOND
        lasts = max(60, int(random.expovariate(1 / (_MEAN_HOURS * 3600)))) * _MS_PER_SECOND
        pod = Holding(
            f"pod-{number}",
            self.nodes[node].uid,
            _GPU,
            milli,
            _account(number, random),
            since,
            since + random.randrange(30, 120) * _MS_PER_SECOND,
            watts=500,
        )
        self.held_milli_ms.append(milli * lasts)
        self._free[node] -= milli
        ends_in = (since + lasts) // MS_PER_HOUR
        self._running[number] = pod
        if ends_in == hour:
            return [self._end(number)]
        self._ends[ends_in].append(number)
        return []

    def _end(self, number: int) -> Holding:
        """The pod of a job as it is once it is over."""
        pod = self._running.pop(number)
        return replace(pod, ends_ms=pod.since_ms + self.held_milli_ms[number] // pod.milli)

    def _leave(self, pod: Holding) -> None:
        """Free a pod's GPUs, from the next hour on: within this one another could overlap."""
        self._free[self._numbers[pod.node]] += pod.milli

    def _room(self, milli: int) -> int | None:
        """The first node with room."""
        return next((n for n, free in enumerate(self._free) if free >= milli), None)


def _node(number: int) -> SeenNode:
    kind, option = _TYPES[number % len(_TYPES)], _OPTIONS[number // len(_TYPES) % len(_OPTIONS)]
    price = 500_000 * (len(_TYPES) - number % len(_TYPES))
    place = Place(kind, f"{kind}-{option}".lower(), option, microdollars=price)
    devices = Devices(_GPU, place, GPUS_PER_NODE * 1000, idle_watts=75, busy_watts=500)
    return SeenNode(f"node-{number}", 0, (devices,))


def _account(number: int, random: Random) -> Account:
    """A team has three namespaces and some users, and submits to one queue."""
    namespace = random.randrange(_NAMESPACES)
    user = namespace * _USERS // _NAMESPACES + random.randrange(3)
    queue = f"queue-{namespace % _QUEUES}"
    uid = f"{number:08x}-0000-4000-8000-{number:012x}"
    name, whose = f"job-{number}", f"user-{user}@example.com"
    return Account("TrainingJob", f"team-{namespace}", name, uid, queue, whose)
