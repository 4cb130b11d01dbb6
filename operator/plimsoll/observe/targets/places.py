"""Map the pods of a job's target to places, and derive the places that these pods really have.

Such pods are numbered by their own controller, or not at all: a pod gets the place on whose nodes
it is bound or to which it is sent. Reality wins: if pods run elsewhere than planned, that is their
place.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from plimsoll.api.parts.placement import Assignment
from plimsoll.kube.objects.objects import Labels
from plimsoll.observe.snapshot import TARGET, PodView
from plimsoll.observe.whole_numbers import whole_number

UNPLACED = -1
_EARLY = datetime.min.replace(tzinfo=UTC)
_GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
_POD_INDEX = "apps.kubernetes.io/pod-index"

Locate = Callable[[Sequence[str]], Assignment | None]
"""The place on these nodes, with pool and GPU type; None if a plan would not use them."""


@dataclass(frozen=True, slots=True)
class Group:
    """The pods of one replica by rank; `ordinal` is its number if its controller assigns one."""

    pods: tuple[PodView, ...]
    ordinal: int | None

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that its pods are on or sent to, "" for those that wait."""
        return tuple(pod.node or pod.wanted_node for pod in self.pods)

    @property
    def is_bound(self) -> bool:
        """Whether each of its pods has a node."""
        return all(self.nodes)


@dataclass(frozen=True, slots=True)
class TargetPlaces:
    """The existing places, and all pods with their replica."""

    places: tuple[Assignment, ...]
    pods: tuple[PodView, ...]


def ordinal_of(labels: Labels) -> int | None:
    """The number that a controller gave a pod's replica; None if it assigns none."""
    return whole_number(labels.get(_GROUP_INDEX) or labels.get(_POD_INDEX, ""))


def target_places(
    places: Sequence[Assignment],
    pods: Iterable[PodView],
    *,
    limit: int,
    keeps: Callable[[Assignment], bool],
    locate: Locate,
) -> TargetPlaces:
    """At most `limit` places: those planned with pods, those found with pods, those kept for pods.

    Empty places that `keeps` rejects are given up, and so are the places of pods that it rejects.
    """
    alive, gone = _parted(pods)
    groups = _groups(alive)
    held, rest = _held([place for place in places if keeps(place)], groups, limit)
    taken, others = list(held.items()), list[Group]()
    for group in rest:
        may_stay = len(taken) < limit and group.is_bound and _may_stay(group, limit)
        place = locate(group.nodes) if may_stay else None
        if place is None:
            others.append(group)
        else:
            taken.append((place, group))
    empty = [place for place in places if keeps(place) and place not in held]
    return _numbered(taken, empty[: limit - len(taken)], (*gone, *_pods_of(others)))


def _parted(pods: Iterable[PodView]) -> tuple[list[PodView], list[PodView]]:
    """Split into pods that stay, and pods that are being deleted or have ended."""
    alive: list[PodView] = []
    gone: list[PodView] = []
    for pod in pods:
        (gone if pod.deleting or pod.is_over else alive).append(pod)
    return alive, gone


def _groups(pods: Iterable[PodView]) -> list[Group]:
    """The replicas, those with nodes first, then by number or age."""
    by_key: dict[int | str, list[PodView]] = defaultdict(list)
    for pod in pods:
        ordinal = ordinal_of(pod.labels)
        by_key[pod.uid if ordinal is None else ordinal].append(pod)
    groups = [
        Group(tuple(sorted(of, key=_rank)), key if isinstance(key, int) else None)
        for key, of in by_key.items()
    ]
    return sorted(groups, key=_turn)


def _rank(pod: PodView) -> int:
    return whole_number(pod.labels.get(_WORKER_INDEX, "")) or 0


def _turn(group: Group) -> tuple[bool, int, datetime, str]:
    first = group.pods[0]
    return not group.is_bound, group.ordinal or 0, first.created or _EARLY, first.name


def _may_stay(group: Group, limit: int) -> bool:
    """Whether the group's controller will not remove it for exceeding the count."""
    return group.ordinal is None or group.ordinal < limit


def _held(
    places: Sequence[Assignment], groups: Iterable[Group], limit: int
) -> tuple[dict[Assignment, Group], list[Group]]:
    """The places that groups have or may take, and the groups without one."""
    free, held, rest = list(places), dict[Assignment, Group](), list[Group]()
    for group in groups:
        fits = (place for place in free if _fits(group, place))
        place = next(fits, None) if _may_stay(group, limit) and len(held) < limit else None
        if place is None:
            rest.append(group)
        else:
            free.remove(place)
            held[place] = group
    return held, rest


def _fits(group: Group, place: Assignment) -> bool:
    """Whether a group is at a place, or waits and can still go there."""
    nodes = group.nodes
    if len(nodes) > len(place.nodes):
        return False
    return all(node in ("", there) for node, there in zip(nodes, place.nodes, strict=False))


def _numbered(
    taken: Sequence[tuple[Assignment, Group]],
    empty: Iterable[Assignment],
    others: Iterable[PodView],
) -> TargetPlaces:
    """The places with distinct numbers: the controller's, otherwise those they had."""
    places: list[Assignment] = []
    pods = [replace(pod, replica=UNPLACED, rank=_rank(pod)) for pod in others]
    used = {group.ordinal for _, group in taken if group.ordinal is not None}
    for place, group in [*taken, *((each, None) for each in empty)]:
        number = group.ordinal if group and group.ordinal is not None else place.replica
        if group is None or group.ordinal is None:
            if number in used or number == UNPLACED:
                number = next(n for n in range(len(used) + 1) if n not in used)
            used.add(number)
        places.append(place.model_copy(update={"replica": number}))
        pods += [replace(p, replica=number, rank=_rank(p)) for p in (group.pods if group else ())]
    by_number = sorted(places, key=lambda place: place.replica)
    return TargetPlaces(
        tuple(by_number), tuple(sorted(pods, key=lambda pod: (pod.replica, pod.name)))
    )


def _pods_of(groups: Iterable[Group]) -> Iterable[PodView]:
    return (pod for group in groups for pod in group.pods)


def new_place(nodes: Sequence[str], pool: str, gpu_type: str, revision: int) -> Assignment:
    """A place where pods were found, not numbered yet."""
    return Assignment.model_construct(
        role=TARGET,
        replica=UNPLACED,
        nodes=tuple(nodes),
        pool=pool,
        accelerator_type=gpu_type,
        revision=revision,
    )
