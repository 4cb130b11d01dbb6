"""Play histories, several at a time on one control plane, and check that they end well.

A round plays one script: users, machines and faults, each at its time. Then nothing happens any
more, and within a bound the cluster must come to rest as the judge accepts it, and stay so. The
lanes are emptied afterwards, and nothing may be left in them.
"""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import NODES, add_nodes
from plimsoll_devcluster.histories.checker import complaints, unreported
from plimsoll_devcluster.histories.cluster_setup import prepare
from plimsoll_devcluster.histories.kubelets import end_forgotten
from plimsoll_devcluster.histories.process import TURN_FAILED, Mortal, summarized
from plimsoll_devcluster.histories.proxy import FaultyApi, faulty_api
from plimsoll_devcluster.histories.script import (
    GROUP,
    Blow,
    Call,
    Lane,
    Script,
    domain_of,
    queue_of,
)
from plimsoll_devcluster.histories.sight import KINDS, Sight, world_of
from plimsoll_devcluster.histories.tally import Outcome, Settling, Tally
from plimsoll_devcluster.histories.world import World, name_of
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.proxies.fault_kinds import OF_ANSWERS, Fault
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.waiting import POLL_SECONDS, wait_until

SETTLE_SECONDS = 90.0
"""The bound within which a cluster comes to rest, on an otherwise idle machine."""
LOOK_SECONDS = 0.5
LATE_SECONDS = 10.0
"""How long faults still wait for a request to hit when a running operator writes nothing."""
LATEST_SECONDS = 60.0
"""How long they wait for that after everything has happened."""
_DEPLOYMENTS = "/apis/apps/v1/{}/deployments"
_WORKLOADS = "/apis/batch/v1/{}/jobs?propagationPolicy=Background"


class Stage:
    """A control plane, an operator behind a faulty proxy, and a witness of every pod."""

    def __init__(
        self,
        api: ApiServer,
        faulty: FaultyApi,
        operator: Mortal,
        sight: Sight,
        *,
        settle_seconds: float,
    ) -> None:
        self._api, self._faulty, self._operator = api, faulty, operator
        self._settle_seconds = settle_seconds
        self._proxy = faulty.proxy
        self._sight = sight
        self._put_off: list[Blow] = []
        self._writes_before = 0
        """Writes of all lives of the operator before the present one."""
        self.tally = Tally(fired=faulty.proxy.fired, deaf_seconds=faulty.proxy.deaf_seconds)

    def play(self, script: Script) -> list[Outcome]:
        """One round: a history for each lane."""
        for lane in script.everybody:
            self._sight.expect(lane)
            self._api.create(f"{GROUP}/jobqueues", queue_of(lane))
            self._api.create(f"{GROUP}/powerdomains", domain_of(lane))
            self._api.create("/api/v1/namespaces", {"metadata": {"name": lane.namespace}})
        add_nodes(self._api, (node for lane in script.everybody for node in lane.nodes.values()))
        wait_until(partial(self._accounts_exist, script), timeout_seconds=60, what="accounts exist")
        wait_until(self._is_operator_there, timeout_seconds=120, what="the operator is there")
        failed_before = len(self._operator.failures())
        self._happen(script)
        settling = self._settled(script.lanes)
        self._empty(script.everybody)
        failed = self._operator.failures()[failed_before:]
        self.tally.failed_turns += sum(TURN_FAILED in line for line in failed)
        found = [
            Outcome(
                script.seed,
                lane.namespace,
                settling.seconds(lane.namespace),
                tuple(settling.last_wrong.get(lane.namespace, ())),
                (
                    *settling.unsettled(lane.namespace),
                    *self._seen_wrong(lane),
                    *(summarized(failed) if lane is script.lanes[0] else ()),
                ),
            )
            for lane in script.lanes
        ]
        self.tally.outcomes += found
        self.tally.ended_by_itself = self._operator.ended_by_itself
        return found

    def _seen_wrong(self, lane: Lane) -> list[str]:
        """What was wrong with pods at any moment, in a lane and next to it."""
        violations = self._sight.witness.violations
        beside = violations.get(lane.neighbour.namespace, []) if lane.neighbour else []
        return [*violations.get(lane.namespace, []), *beside]

    def _is_operator_there(self) -> bool:
        self._operator.attend()
        return self._proxy.is_listened_to("/trainingjobs")

    def _accounts_exist(self, script: Script) -> bool:
        return all(
            self._api.exists(f"/api/v1/namespaces/{lane.namespace}/serviceaccounts/default")
            for lane in script.everybody
        )

    def _happen(self, script: Script) -> None:
        """Make everything happen, each at its time; late events happen at once."""
        calls = (call for lane in script.everybody for call in lane.calls)
        blows = (*script.blows, *(blow for lane in script.lanes for blow in lane.blows))
        acts: list[tuple[float, Callable[[], None]]] = [
            *((call.at, partial(self._call, call)) for call in calls),
            *((blow.at, partial(self._strike, blow)) for blow in blows),
        ]
        begun = time.monotonic()
        for at, act in sorted(acts, key=lambda each: each[0]):
            while time.monotonic() < begun + at:
                self._attend()
                time.sleep(min(POLL_SECONDS, max(0.0, begun + at - time.monotonic())))
            act()
        self._await_the_rest()
        self._faulty.let(FaultyProxy.disarm)

    def _await_the_rest(self) -> None:
        """Wait until all faults have hit, or there is nothing more for them to hit."""
        latest = time.monotonic() + LATEST_SECONDS
        quiet_since, seen = time.monotonic(), self._proxy.writes
        while (self._proxy.is_armed or self._put_off) and time.monotonic() < latest:
            self._attend()
            has_begun = self._proxy.writes > self._writes_before
            if self._proxy.writes != seen or not has_begun:
                quiet_since, seen = time.monotonic(), self._proxy.writes
            if time.monotonic() > quiet_since + LATE_SECONDS:
                break
            time.sleep(POLL_SECONDS)
        self._put_off.clear()

    def _attend(self) -> None:
        """Restart the operator, and strike the blows that were put off until it runs."""
        if self._proxy.holds_writes:
            self._kill(Fault.KILLED_BETWEEN_WRITES, 0.0)
            self._faulty.let(FaultyProxy.let_write)
            wait_until(
                lambda: not self._proxy.holds_writes, timeout_seconds=30, what="none is held"
            )
        self._operator.attend()
        if self._put_off and self._proxy.is_listened_to():
            self._strike(self._put_off.pop(0))

    def _call(self, call: Call) -> None:
        """Make a user's call; its object may be missing, or exist already."""
        self.tally.happenings += 1
        try:
            match call.method:
                case "POST":
                    self._created(call)
                case "DELETE":
                    self._api.delete(call.path)
                case _:
                    self._api.merge(call.path, call.body)
        except ApiServerRefusedError as error:
            if call.may_be_refused:
                self.tally.refused += 1
            elif error.status not in (404, 409) or "/pods/" not in call.path:
                raise

    def _created(self, call: Call) -> None:
        """A node that has just gone may still exist for a moment."""

        def is_made() -> bool:
            try:
                self._api.create(call.path, call.body)
            except ApiServerRefusedError as error:
                if error.status != 409:  # noqa: PLR2004 - HTTP's conflict
                    raise
                return False
            return True

        wait_until(is_made, timeout_seconds=30, what=call.what)

    def _strike(self, blow: Blow) -> None:
        """Strike a blow; one meant for a running operator waits until there is one."""
        if blow.fault not in OF_ANSWERS and not self._proxy.is_listened_to():
            self._put_off.append(blow)
            return
        match blow.fault:
            case Fault.KILLED:
                self._kill(blow.fault, blow.seconds)
            case Fault.KILLED_BETWEEN_WRITES:
                self._faulty.let(lambda proxy: proxy.let_write(blow.requests))
            case Fault.CUT:
                self._faulty.let(FaultyProxy.cut)
            case Fault.GONE:
                self._faulty.let(FaultyProxy.forget)
            case Fault.HALF_OPEN:
                self._faulty.let(FaultyProxy.half_open)
            case Fault.SILENT:
                self._faulty.let(lambda proxy: proxy.fall_silent(blow.seconds))
            case fault if fault in OF_ANSWERS:
                self._faulty.let(lambda proxy: proxy.arm(blow.armed))
            case _:
                raise ValueError(blow.fault)

    def _kill(self, how: Fault, away_seconds: float) -> None:
        self._operator.kill(away_seconds)
        self._writes_before = self._proxy.writes
        self._faulty.let(lambda proxy: proxy.deaf_since.clear())
        self._proxy.fired[how] += 1
        self.tally.kills += 1

    def _settled(self, lanes: Iterable[Lane]) -> Settling:
        """Look repeatedly until every lane is well for good, or the bound has passed."""
        settling, begun = Settling(), time.monotonic()
        while True:
            self._operator.attend()
            looked = time.monotonic() - begun
            world = world_of(self._api)
            self.tally.forgotten += end_forgotten(self._api, world)
            for lane in lanes:
                wrong = _wrong(world, lane)
                settling.looked(lane.namespace, wrong, looked)
            if settling.is_calm(looked) or looked > self._settle_seconds:
                return settling
            time.sleep(LOOK_SECONDS)

    def _empty(self, lanes: Iterable[Lane]) -> None:
        """Delete the jobs; it is wrong if pods remain without them."""
        for lane in lanes:
            for kind in (_WORKLOADS, *(f"{GROUP}/{{}}/{kind}" for kind in KINDS), _DEPLOYMENTS):
                self._api.delete(kind.format(f"namespaces/{lane.namespace}"))
        namespaces = {lane.namespace for lane in lanes}
        deadline = time.monotonic() + self._settle_seconds
        while left := self._pods_in(namespaces):
            self._operator.attend()
            self.tally.forgotten += end_forgotten(self._api, world_of(self._api))
            if time.monotonic() > deadline:
                for pod in left:
                    self._sight.witness.violations[pod["metadata"]["namespace"]].append(
                        f"pod {name_of(pod)} stays though its job is gone"
                    )
                break
            time.sleep(LOOK_SECONDS)
        for lane in lanes:
            for name in lane.nodes:
                self._api.delete(f"{NODES}/{name}")
            self._api.delete(f"{GROUP}/jobqueues/{lane.namespace}")
            self._api.delete(f"{GROUP}/powerdomains/{lane.namespace}")
            self._api.delete(f"/api/v1/namespaces/{lane.namespace}")

    def _pods_in(self, namespaces: set[str]) -> list[Manifest]:
        pods = self._api.items("/api/v1/pods")
        return [pod for pod in pods if pod["metadata"]["namespace"] in namespaces]


def _wrong(world: World, lane: Lane) -> list[str]:
    """What is wrong in a lane now; its neighbour's jobs must have a current status."""
    found, beside = complaints(world.within(lane.namespace, lane.nodes), lane), lane.neighbour
    if beside is not None:
        theirs = unreported(world.within(beside.namespace, beside.nodes))
        found += (f"beside it, {each}" for each in theirs)
    return found


@contextmanager
def stage(
    api: ApiServer, kubeconfig: Path, folder: Path, *, settle_seconds: float = SETTLE_SECONDS
) -> Generator[Stage]:
    """Yield a stage on a control plane that has our custom resources and no operator."""
    prepare(api)
    with faulty_api(kubeconfig, folder) as faulty, Sight(api) as sight:
        operator = Mortal(faulty.kubeconfig, folder)
        try:
            yield Stage(api, faulty, operator, sight, settle_seconds=settle_seconds)
        finally:
            operator.kill(0)
