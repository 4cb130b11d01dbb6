"""Choose the replica of a role to renew next when its pod template has changed.

One at a time, and where there is room only once one more serves than is wanted (see
`planning.problem.renewal`); elsewhere one replica less serves meanwhile, as with
`maxUnavailable: 1` of a Deployment or a LeaderWorkerSet. A replica without room yet serves nobody
and does not count, so a service that cannot grow still gets its new template. A new pod that does
not become ready stops the rollout, whether it was renewed or just added: the next one would fare no
better.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from plimsoll.acting.conditions.replicas import ReplicaKey
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.template_hash import hashes_by_role, is_old


@dataclass(frozen=True, slots=True)
class _Replica:
    """`is_old`: one of its pods has another template; `is_going`: it is being taken away.

    `nodes`: those of its place.
    """

    nodes: tuple[str, ...]
    pods: tuple[PodView, ...]
    is_old: bool
    is_ready: bool
    is_going: bool


def to_renew(
    job: InferenceJob,
    pods: Iterable[PodView],
    places: Sequence[Assignment],
    waiting: AbstractSet[ReplicaKey],
    held: AbstractSet[str] = frozenset(),
) -> tuple[PodView, ...]:
    """The pods of the replicas to renew now, at most one replica of each role.

    `pods` are those that are wanted; `waiting` are the replicas for which there is no room yet;
    `held` are the roles of which none that serves is to be renewed.
    """
    by_replica: dict[ReplicaKey, list[PodView]] = {}
    for pod in pods:
        by_replica.setdefault((pod.role, pod.replica), []).append(pod)
    found: list[PodView] = []
    for role in sorted({place.role for place in places}):
        current = hashes_by_role(job)[role]
        mine = [place for place in places if place.role == role]
        replicas = (
            _replica(by_replica.get((role, place.replica), []), place.nodes, current)
            for place in mine
            if (role, place.replica) not in waiting
        )
        found += _next(replicas, may_serve=role not in held)
    return tuple(found)


def _replica(
    pods: Sequence[PodView], nodes: tuple[str, ...], current: AbstractSet[str]
) -> _Replica:
    return _Replica(
        nodes=nodes,
        pods=tuple(pods),
        is_old=any(is_old(pod.template_hash, current) for pod in pods),
        is_ready=len(pods) == len(nodes) and all(pod.ready and not pod.deleting for pod in pods),
        is_going=any(pod.deleting or pod.draining_since for pod in pods),
    )


def _next(replicas: Iterable[_Replica], *, may_serve: bool) -> tuple[PodView, ...]:
    """The pods to renew next: preferably those already going, then those not ready.

    Of one that is ready only if it `may_serve`, and last those with others on their node: if one
    more than is wanted serves, the last is not renewed but goes, and the service stays spread.
    """
    known = tuple(replicas)
    on = Counter(each.nodes for each in known)
    if any(not each.is_old and not each.is_ready for each in known):
        return ()
    old = sorted(
        (each for each in known if each.is_old and (may_serve or not each.is_ready)),
        key=lambda each: (not each.is_going, each.is_ready, on[each.nodes]),
    )
    return old[0].pods if old else ()
