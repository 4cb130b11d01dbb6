"""What Karpenter would buy on the same day, for pods that are placed first come, first served.

A training job is a gang of as many pods as its owner asked for, all on GPUs of one type. Gangs take
their turn in the order of their submission: what is free first, and for the rest new nodes of the
type for which those cost least an hour, spot if there is some. Its pods are bound as the nodes
come, and it starts once all are. A gang that loses a pod ends and waits in its old place; what it
had not saved is lost. If the owner chose, a gang waits for the type on which all its work costs
least, and for others only if that cannot be had.

A service has the replicas of a HorizontalPodAutoscaler, on-demand, on the cheapest node for each.

As `WhenEmptyOrUnderutilized` has it, a node that has been empty for `consolidate_after` goes, and
so does one on which there are only replicas that have room elsewhere. Pods of training are not to
be disrupted. An offering without capacity is left alone for three minutes.
"""

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plimsoll.observe.labels import REPLICA, REVISION
from plimsoll_bench.day.autoscaler import Autoscaler
from plimsoll_bench.day.pods import asked_gpus, environment, pod_on
from plimsoll_bench.day.scene import recorded
from plimsoll_bench.day.work import seconds_of
from plimsoll_bench.provisioning.market import PRICES, Source, node_claim
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.provider import CLAIMS
from plimsoll_simulator.programs.serving import Service
from plimsoll_simulator.programs.training import Gang, LocalBatch, Run
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS
from plimsoll_simulator.twin import Twin

TURN_SECONDS = 10.0
SHORTAGE_SECONDS = 180.0
TYPES = ("dgx-ext", "rtx", "aws")
"""GPU types, the fastest first."""


@dataclass(frozen=True, slots=True)
class Terms:
    """`owner_chooses`: whether a gang's owner names the type on which its work costs least."""

    consolidate_after: float = 60.0
    owner_chooses: bool = False


@dataclass(slots=True)
class _Machine:
    """A node that was bought, on its way or there; `taken` by each gang or replica, by its key."""

    name: str
    source: Source
    ordered: float
    taken: dict[str, int] = field(default_factory=dict[str, int])
    empty_since: float | None = None
    is_open: bool = True

    @property
    def free(self) -> int:
        """GPUs that nobody has."""
        return self.source.offering.gpus - sum(self.taken.values())


@dataclass(slots=True)
class _Group:
    """A gang, or one replica: it has its GPUs, and pods once all its nodes are there."""

    key: str
    of: Run | Service
    types: Sequence[str]
    gpus: int
    since: float
    gpu_type: str = ""
    pods: tuple[str, ...] = ()

    def may_be_on(self, source: Source) -> bool:
        """Whether it takes spot, if that is some: services do not."""
        return isinstance(self.of, Run) or not source.is_spot


class Karpenter:
    """Buys nodes on a twin and places pods there."""

    def __init__(self, twin: Twin, sources: Sequence[Source], terms: Terms) -> None:
        self._twin, self._sources, self._terms = twin, sources, terms
        self._machines: dict[str, _Machine] = {}
        self._groups: dict[str, _Group] = {}
        self._short_until: dict[str, float] = {}
        self._autoscaler = Autoscaler(twin.clock)
        self._numbers = 0

    async def operate(self) -> None:
        """Buy and place until cancelled."""
        while True:
            self.turn()
            await asyncio.sleep(TURN_SECONDS)

    def turn(self) -> None:
        """Look at everything; place, buy and give back."""
        self._see_nodes()
        self._see_gangs()
        for service in self._twin.serving.services():
            self._scale(service)
        for group in self._in_order():
            if not group.pods:
                self._seat(group)
                self._start(group)
        self._consolidate()

    @property
    def _now(self) -> float:
        return self._twin.clock.monotonic()

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    # What has become of things.

    def _see_nodes(self) -> None:
        """Forget nodes that are gone, and give nothing to those that are to go."""
        for name, machine in [*self._machines.items()]:
            if self._twin.api.find(Key(CLAIMS, "", name)) is None:
                if self._node(name) is None and not self._was_there(name):
                    short = self._now + SHORTAGE_SECONDS
                    self._short_until[machine.source.offering.name] = short
                del self._machines[name]
                for key in machine.taken:
                    self._lost(key)
            else:
                node = self._node(name)
                machine.is_open = machine.is_open and not (node and node["spec"].get("taints"))

    def _was_there(self, name: str) -> bool:
        return any(rental.claim == name for rental in self._twin.provider.rentals())

    def _lost(self, key: str) -> None:
        """A group has lost a node: its pods end, and it waits anew."""
        group = self._groups.get(key)
        if group is not None:
            self._release(group)
            if isinstance(group.of, Service):
                del self._groups[key]

    def _release(self, group: _Group) -> None:
        """End its pods, and free what it has."""
        for name in group.pods:
            pod = Key("pods", group.of.job.metadata.namespace, name)
            if self._twin.api.find(pod) is not None:
                self._twin.api.delete(pod)
        group.pods = ()
        for machine in self._machines.values():
            machine.taken.pop(group.key, None)

    def _see_gangs(self) -> None:
        """Take in new jobs, and forget those that are done."""
        for uid, run in self._twin.training.runs.items():
            if run.account.completed is not None:
                if uid in self._groups:
                    self._release(self._groups.pop(uid))
            elif uid not in self._groups:
                since = run.account.submitted
                self._groups[uid] = _Group(uid, run, TYPES, asked_gpus(run), since)

    def _scale(self, service: Service) -> None:
        uid, job = service.job.metadata.uid, service.job.metadata
        have = [each for each in self._groups.values() if each.of is service]
        is_there = self._twin.api.find(Key("inferencejobs", job.namespace, job.name)) is not None
        wanted = self._autoscaler.replicas(service) if is_there else 0
        for group in have[wanted:]:
            self._release(group)
            del self._groups[group.key]
        for _ in range(wanted - len(have)):
            key = f"{uid}/{self._number()}"
            types = sorted(service.truth.answers, key=lambda each: service.truth.answers[each])
            self._groups[key] = _Group(key, service, types, 1, -1.0)

    def _in_order(self) -> list[_Group]:
        """Services first, then gangs as they were submitted."""
        return sorted(self._groups.values(), key=lambda each: each.since)

    # Placing and buying.

    def _seat(self, group: _Group) -> None:
        """Give a group its GPUs if it has none: free ones, and those of nodes bought for it."""
        if any(group.key in machine.taken for machine in self._machines.values()):
            return
        costs = {each: self._cost(group, each) for each in group.types}
        types = [each for each in group.types if costs[each] < math.inf]
        if self._terms.owner_chooses and isinstance(group.of, Run):
            run = group.of
            types.sort(key=lambda each: dollars_of_work(run, each))
        else:
            types.sort(key=lambda each: costs[each])
        if types:
            group.gpu_type = types[0]
            self._take(group)

    def _cost(self, group: _Group, gpu_type: str) -> float:
        """What nodes cost an hour that would have to be bought; infinite if there are none."""
        lacks = group.gpus - sum(each.free for each in self._open(group, gpu_type))
        cost = 0.0
        for source in self._offered(group, gpu_type) if lacks > 0 else ():
            offering = source.offering
            number = min(math.ceil(lacks / offering.gpus), self._left(source))
            cost += number * offering.dollars_per_hour
            lacks -= number * offering.gpus
            if lacks <= 0:
                break
        return cost if lacks <= 0 else math.inf

    def _take(self, group: _Group) -> None:
        gpus = group.gpus
        machines = sorted(self._open(group, group.gpu_type), key=lambda each: each.free)
        whole = [each for each in machines if each.free >= gpus]
        for machine in whole or machines[::-1]:
            gpus -= _given(machine, group, gpus)
        for source in self._offered(group, group.gpu_type):
            while gpus > 0 and self._left(source):
                gpus -= _given(self._bought(source), group, gpus)

    def _open(self, group: _Group, gpu_type: str) -> Iterator[_Machine]:
        """The nodes of a type that a group may use and that have room."""
        for machine in self._machines.values():
            source = machine.source
            is_of_type = source.offering.gpu_type == gpu_type and group.may_be_on(source)
            if is_of_type and machine.is_open and machine.free:
                yield machine

    def _offered(self, group: _Group, gpu_type: str) -> list[Source]:
        """What of a type can be bought for a group, the cheapest first."""
        found = [
            source
            for source in self._sources
            if source.offering.gpu_type == gpu_type
            and group.may_be_on(source)
            and self._short_until.get(source.offering.name, 0.0) <= self._now
        ]
        return sorted(found, key=lambda each: each.offering.dollars_per_hour)

    def _left(self, source: Source) -> int:
        return source.most - sum(each.source is source for each in self._machines.values())

    def _bought(self, source: Source) -> _Machine:
        name = f"{source.offering.name}-{self._number()}"
        self._twin.api.create(CLAIMS, node_claim(source.offering, name))
        machine = self._machines[name] = _Machine(name, source, self._now)
        return machine

    def _start(self, group: _Group) -> None:
        """Create a group's pods if it has all its GPUs, and their nodes are there."""
        nodes = [m.name for m in self._machines.values() for _ in range(m.taken.get(group.key, 0))]
        if len(nodes) < group.gpus or any(self._node(name) is None for name in nodes):
            return
        meta, number = group.of.job.metadata, self._number()
        told = (
            environment(group.of, group.gpu_type) if isinstance(group.of, Run) else dict[str, int]()
        )
        pods: list[str] = []
        for replica, node in enumerate(nodes):
            labels = {REVISION: str(number), REPLICA: str(replica)}
            name = f"{meta.name}-{number}-{replica}"
            pod = pod_on(group.of.job, name, node, labels if told else {}, told)
            self._twin.api.create("pods", pod)
            pods.append(name)
        group.pods = tuple(pods)

    def _node(self, name: str) -> Raw | None:
        return self._twin.api.find(Key("nodes", "", name))

    # Consolidation.

    def _consolidate(self) -> None:
        """Let nodes go that are empty, and one whose replicas have room elsewhere."""
        moved = False
        for machine in [*self._machines.values()]:
            if machine.taken or self._node(machine.name) is None:
                machine.empty_since = None
            elif machine.empty_since is None:
                machine.empty_since = self._now
            elif self._now - machine.empty_since >= self._terms.consolidate_after:
                self._give_back(machine)
            if machine.taken and not moved and self._has_room_elsewhere(machine):
                moved = True
                self._move(machine)

    def _has_room_elsewhere(self, machine: _Machine) -> bool:
        """Whether only replicas are there that all have room on nodes that are in use."""
        groups = [self._groups[key] for key in machine.taken]
        if self._now - machine.ordered < self._terms.consolidate_after or not all(
            isinstance(each.of, Service) and each.pods for each in groups
        ):
            return False
        others = self._elsewhere(machine, groups[0])
        return sum(each.free for each in others) >= len(groups)

    def _elsewhere(self, machine: _Machine, group: _Group) -> list[_Machine]:
        found = self._open(group, machine.source.offering.gpu_type)
        return [
            each
            for each in found
            if each is not machine and each.taken and self._node(each.name) is not None
        ]

    def _move(self, machine: _Machine) -> None:
        """Have its replicas elsewhere; the node goes once it has been empty for long enough."""
        machine.is_open = False
        for key in [*machine.taken]:
            group = self._groups[key]
            self._release(group)
            _given(self._elsewhere(machine, group)[0], group, 1)
            self._start(group)

    def _give_back(self, machine: _Machine) -> None:
        del self._machines[machine.name]
        self._twin.api.delete(Key(CLAIMS, "", machine.name))


def _given(machine: _Machine, group: _Group, gpus: int) -> int:
    """Give a group up to so many of a node's free GPUs; return how many."""
    number = min(machine.free, gpus)
    if number > 0:
        machine.taken[group.key] = machine.taken.get(group.key, 0) + number
    return max(0, number)


def dollars_of_work(run: Run, gpu_type: str) -> float:
    """What the GPUs of a gang cost for all its work, if they are on-demand."""
    speed, [pool] = recorded(run), [each for each in SIA_POOLS if each.gpu_type == gpu_type]
    told, gpus = environment(run, gpu_type), asked_gpus(run)
    batch = LocalBatch(told["PLIMSOLL_LOCAL_BATCH"], told["PLIMSOLL_ACCUMULATION"])
    nodes = {str(place): each for place, each in enumerate(pool.shape(gpus))}
    seconds = seconds_of(speed, Gang(gpu_type, nodes, batch), run.amount)
    return seconds * gpus * PRICES[gpu_type] / 3600
