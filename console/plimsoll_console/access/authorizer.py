"""Find what a user may see, by the API server's SubjectAccessReviews.

Asked is what the user would ask the API server for: to list a kind everywhere, otherwise in each
namespace that has jobs of it, otherwise to get one by its name. What is allowed is remembered for
some seconds; what is denied in one of many namespaces for longer, since that only delays a new
right. A review that fails is an error, never a right.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from plimsoll.api.definition import GROUP
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.power_domain import PowerDomain
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import Wire
from plimsoll_console.access.rights import JOB_KINDS, Place, Rights
from plimsoll_console.access.users import User

REVIEWS: Final = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", namespaced=False)
DENIED_SECONDS: Final = 60.0
MOST_REMEMBERED: Final = 65_536


@dataclass(frozen=True, slots=True)
class Access:
    """What a user wants to do."""

    verb: str
    resource: str
    group: str = GROUP
    namespace: str = ""
    name: str = ""


class _Status(Wire, frozen=True):
    allowed: bool = False


class _Review(Wire, frozen=True):
    status: _Status = _Status()


class Authorizer:
    """Asks the API server, and remembers the answers."""

    def __init__(
        self,
        client: KubeClient,
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._seconds, self._clock = client, seconds, clock
        self._known: OrderedDict[tuple[User, Access], tuple[float, bool]] = OrderedDict()
        self._pending: dict[tuple[User, Access], asyncio.Task[bool]] = {}

    async def rights(self, user: User, places: Collection[Place]) -> Rights:
        """What the user may see, where there are jobs in these places. Raises ApiError."""
        may = await self._answers(user, _EVERYWHERE.values())
        kinds = frozenset(each.kind for each in JOB_KINDS if may[_EVERYWHERE[each.kind]])
        asked = {each: _within(each) for each in places if each[0] not in kinds}
        may_there = await self._answers(user, asked.values())
        return Rights(
            kinds=kinds,
            places=frozenset(place for place, access in asked.items() if may_there[access]),
            nodes=may[_NODES],
            queues=may[_EVERYWHERE[JobQueue.definition.kind]],
            pools=may[_EVERYWHERE[GPUPool.definition.kind]],
            power_domains=may[_EVERYWHERE[PowerDomain.definition.kind]],
            policy=may[_EVERYWHERE[PlacementPolicy.definition.kind]],
        )

    async def may_get(self, user: User, kind: str, namespace: str, name: str) -> bool:
        """Whether the user may get one job by its name. Raises ApiError."""
        plural = _PLURALS[kind]
        return await self._may(user, Access("get", plural, namespace=namespace, name=name))

    async def _answers(self, user: User, asked: Collection[Access]) -> dict[Access, bool]:
        """Whether the user may do each of these."""
        found = {
            each: known for each in asked if (known := self._remembered(user, each)) is not None
        }
        missing = [each for each in asked if each not in found]
        # Mostly nothing is missing, and many viewers ask each second.
        if missing:
            may = await asyncio.gather(*(self._may(user, each) for each in missing))
            found |= zip(missing, may, strict=True)
        return found

    def _remembered(self, user: User, access: Access) -> bool | None:
        known = self._known.get((user, access))
        return known[1] if known is not None and self._clock() < known[0] else None

    async def _may(self, user: User, access: Access) -> bool:
        known = self._remembered(user, access)
        if known is not None:
            return known
        key = (user, access)
        task = self._pending.get(key)
        if task is None:
            task = self._pending[key] = asyncio.create_task(self._reviewed(user, access))
            task.add_done_callback(lambda _: self._pending.pop(key, None))
        # A caller that goes away must not cancel the result for others who wait for it.
        return await asyncio.shield(task)

    async def _reviewed(self, user: User, access: Access) -> bool:
        asked_at = self._clock()
        review = await self._client.create(REVIEWS.everywhere(), _body(user, access), _Review)
        allowed = review.status.allowed
        is_one_of_many = bool(access.namespace) and not access.name
        seconds = DENIED_SECONDS if is_one_of_many and not allowed else self._seconds
        self._known[user, access] = (asked_at + seconds, allowed)
        self._known.move_to_end((user, access))
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return allowed


_PLURALS: Final = {each.kind: each.plural for each in JOB_KINDS}
_CLUSTER_KINDS: Final = (JobQueue, GPUPool, PowerDomain, PlacementPolicy)
_NODES: Final = Access("list", "nodes", "")
_EVERYWHERE: Final = {
    "Node": _NODES,
    **{each.kind: Access("list", each.plural) for each in JOB_KINDS},
    **{kind.definition.kind: Access("list", kind.definition.plural) for kind in _CLUSTER_KINDS},
}
"""To list all objects of a kind."""


def _within(place: Place) -> Access:
    kind, namespace = place
    return Access("list", _PLURALS[kind], namespace=namespace)


def _body(user: User, access: Access) -> dict[str, Any]:
    spec = {
        "user": user.name,
        "uid": user.uid,
        "groups": user.groups,
        "extra": user.extra_by_key,
        "resourceAttributes": _attributes(access),
    }
    return {"apiVersion": REVIEWS.api_version, "kind": "SubjectAccessReview", "spec": spec}


def _attributes(access: Access) -> dict[str, str]:
    found = {
        "verb": access.verb,
        "group": access.group,
        "resource": access.resource,
        "namespace": access.namespace,
        "name": access.name,
    }
    return {field: value for field, value in found.items() if value}
