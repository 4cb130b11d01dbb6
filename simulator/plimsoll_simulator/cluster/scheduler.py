"""The twin's kube-scheduler: it binds a pod where its affinity sends it, once there is room."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal

from plimsoll.clock import Clock
from plimsoll_simulator.cluster.api_server import ApiServer, Change, Key
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import (
    READY,
    SCHEDULED,
    Amounts,
    condition,
    holds,
    is_deleted,
    is_over,
    lacking,
    report,
    requests_of,
    wanted_node,
)

BIND_SECONDS = 0.05
RETRY_SECONDS = 5.0


class Scheduler:
    """Binds every pod of the cluster; `bound` hears of each."""

    def __init__(self, api: ApiServer, clock: Clock, bound: Callable[[Key, Raw], None]) -> None:
        self._api, self._clock, self._bound = api, clock, bound
        self._taken: dict[str, dict[str, Decimal]] = defaultdict(dict)
        """What the pods of each node take of it, by the node's name."""
        self._held: dict[str, tuple[str, Amounts]] = {}
        """The node of each bound pod and what it takes there, by the pod's uid."""
        api.listen(self._heard)

    def _heard(self, change: Change) -> None:
        if change.key.plural != "pods":
            return
        if change.after is None:
            self._release(change.before)
        elif change.before is None:
            self._later(BIND_SECONDS, change.key, change.after)
        elif is_over(change.after):
            self._release(change.after)

    def _later(self, seconds: float, key: Key, pod: Raw) -> None:
        uid = pod["metadata"]["uid"]
        asyncio.get_running_loop().call_later(seconds, self._bind, key, uid)

    def _bind(self, key: Key, uid: str) -> None:
        pod = self._api.find(key)
        if pod is None or pod["metadata"]["uid"] != uid or is_deleted(pod):
            return
        node, wanted = wanted_node(pod), requests_of(pod)
        why_not = self._why_not(pod, node, wanted)
        if why_not:
            said = condition(SCHEDULED, self._clock, why_not=why_not, reason="Unschedulable")
            report(self._api, key, {"conditions": [said]})
            self._later(RETRY_SECONDS, key, pod)
            return
        self._held[uid] = node, wanted
        for name, amount in wanted.items():
            self._taken[node][name] = self._taken[node].get(name, Decimal(0)) + amount
        self._api.update(key, lambda old: {**old, "spec": {**old["spec"], "nodeName": node}})
        said = condition(SCHEDULED, self._clock)
        self._bound(key, report(self._api, key, {"conditions": [said]}))

    def _why_not(self, pod: Raw, name: str, wanted: Amounts) -> str:
        """Why a pod cannot be bound to a node, "" if it can."""
        if pod["spec"].get("schedulingGates"):
            return "it waits at a scheduling gate"
        node = self._api.find(Key("nodes", "", name))
        if node is None:
            return f"there is no node {name!r}"
        if node.get("spec", {}).get("unschedulable") or not holds(node, READY):
            return f"node {name} takes no pods"
        lack = lacking(node, self._taken[name], wanted)
        return f"node {name} has too little {lack}" if lack else ""

    def _release(self, pod: Raw | None) -> None:
        node, held = self._held.pop(pod["metadata"]["uid"] if pod else "", ("", {}))
        for name, amount in held.items():
            self._taken[node][name] -= amount
