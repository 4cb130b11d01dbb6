"""Move replicas without a gap: the old ones serve until the new ones do.

A replica that moves is replaced by one with another number, elsewhere. For each role, as many
departing replicas are kept as placed ones are still starting, so a move does not reduce what
serves. A start begins with waiting until the training jobs that hold the new place have left. None
is kept where the new place is itself held by a replica that serves on (two services could wait for
each other), on a node that fails or that its provider reclaims, or for longer than a start may
take.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from plimsoll.acting.conditions.replicas import ReplicaKey, ready_replicas
from plimsoll.acting.jobs.overshoot import overshoot_ends
from plimsoll.acting.step import Turn
from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.nodes.notices import has_interruption_notice
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.cluster.surge import surge_pods
from plimsoll.vocabulary.reasons import Reason

LONGEST_START: Final = timedelta(minutes=10)
"""How long after its pods were created a replica is waited for; a Deployment's default."""
_SERVE_ON: Final = frozenset({Reason.DRAINING, Reason.DELETING, Reason.NODE_EMPTIED})
"""Reasons for leaving a node whose pods serve until somebody evicts them, or they are replaced."""


@dataclass(frozen=True, slots=True)
class Handover:
    """The pods that still serve after losing their place, and when waiting for each start ends."""

    keeps: tuple[PodView, ...] = ()
    times: tuple[datetime, ...] = ()

    @property
    def replicas(self) -> int:
        """How many replicas are kept."""
        return len({(pod.role, pod.replica, pod.revision) for pod in self.keeps})


def handover(
    view: JobView,
    unwanted: Sequence[PodView],
    places: Sequence[Assignment],
    waiting: AbstractSet[ReplicaKey],
    turn: Turn,
) -> Handover:
    """The pods of `unwanted` to keep; `waiting` are the replicas for which there is no room yet."""
    if not unwanted or overshoot_ends(view, turn) is not None:
        return Handover()
    starts = _starts(view, unwanted, places, _blocked(places, waiting, turn))
    keeps: list[PodView] = []
    times: list[datetime] = []
    for role in sorted({pod.role for pod in unwanted}):
        ends = [at for name, at in starts if name == role and (at is None or at > turn.now)]
        kept = [each for each in _replicas(unwanted, role) if _may_serve(each, turn)][: len(ends)]
        keeps += [pod for replica in kept for pod in replica]
        times += [at for at in ends if at is not None] if kept else []
    return Handover(tuple(keeps), tuple(times))


def _blocked(
    places: Sequence[Assignment], waiting: AbstractSet[ReplicaKey], turn: Turn
) -> frozenset[ReplicaKey]:
    """Of the replicas without room, those whose nodes hold replicas that serve on meanwhile."""
    if not waiting:
        return frozenset()
    held = {pod.node for view in turn.snapshot.jobs for pod in surge_pods(view)}
    keys = {(each.role, each.replica): each.nodes for each in places}
    return frozenset(key for key in waiting if held.intersection(keys[key]))


def _starts(
    view: JobView,
    unwanted: Sequence[PodView],
    places: Sequence[Assignment],
    blocked: AbstractSet[ReplicaKey],
) -> list[tuple[str, datetime | None]]:
    """The role of each starting replica, and when its start must end; None if it has no pod yet.

    A replica whose number is still used by departing pods is created only after those are gone.
    """
    gone = {pod.uid for pod in unwanted}
    delayed = blocked | {(pod.role, pod.replica) for pod in unwanted}
    mine = [pod for pod in view.pods if pod.uid not in gone]
    ready = ready_replicas(mine, places)
    found: list[tuple[str, datetime | None]] = []
    for place in places:
        key = (place.role, place.replica)
        if key not in ready and key not in delayed:
            made = [p.created for p in mine if (p.role, p.replica) == key and p.created is not None]
            found.append((place.role, min(made) + LONGEST_START if made else None))
    return found


def _replicas(pods: Iterable[PodView], role: str) -> list[tuple[PodView, ...]]:
    def key(pod: PodView) -> tuple[int, int]:
        return pod.replica, pod.revision

    mine = sorted((pod for pod in pods if pod.role == role), key=key)
    return [tuple(each) for _, each in groupby(mine, key)]


def _may_serve(replica: Iterable[PodView], turn: Turn) -> bool:
    return all(
        pod.ready and not pod.deleting and pod.draining_since is None and _may_stay(pod, turn)
        for pod in replica
    )


def _may_stay(pod: PodView, turn: Turn) -> bool:
    """Whether a pod's node stays and is sound, as far as is known."""
    node = turn.snapshot.node_by_name.get(pod.node)
    if node is None or has_interruption_notice(node.node):
        return False
    return node.state.usable or node.state.reason in _SERVE_ON
