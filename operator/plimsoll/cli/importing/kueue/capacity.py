"""How many GPUs of each type a queue owns, and how many it may use at most.

The arithmetic is Kueue's own (`resource_node.go`), by flavor and resource. A queue owns the quotas
of its whole subtree. It may use these, what the tree above lends, and no more than it may borrow;
what others keep from lending is not there for it. JobQueues count GPU types, so flavors of one
type are added up.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from plimsoll.cli.importing.kueue.gpu_types import Counted
from plimsoll.cli.importing.kueue.objects import ClusterQueue, ResourceQuota
from plimsoll.cli.importing.kueue.tree import Member
from plimsoll.observe.nodes.gpus import is_gpu_resource

Key = tuple[str, str]
"""A flavor and a resource."""
_NONE: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class Share:
    """GPUs of one type: owned, and used at most."""

    guaranteed: Decimal = _NONE
    limit: Decimal = _NONE


def quotas_of(member: Member) -> Iterator[tuple[Key, ResourceQuota]]:
    """A member's own quotas."""
    for group in member.groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                yield (flavor.name, quota.name), quota


def with_gpus(members: Sequence[Member]) -> list[Member]:
    """ClusterQueues with quotas of GPUs, and Cohorts with such; others have nothing to plan."""
    needed: set[str | None] = set()
    found: list[Member] = []
    for member in reversed(members):
        own = any(is_gpu_resource(resource) for (_, resource), _ in quotas_of(member))
        if own or member.name in needed:
            needed.add(member.parent)
            found.append(member)
    return found[::-1]


def shares(
    members: Sequence[Member], counted: Mapping[Key, Counted]
) -> dict[str, dict[str, Share]]:
    """What each member owns and may use of every type that any of them has.

    `members` come after their parents. A type that a member may not use has a limit of 0, and so
    has one of several that a quota may count: which, nobody knows.
    """
    everything = {kind for each in counted.values() for kind in each.types}
    found = {member.name: dict.fromkeys(everything, Share()) for member in members}
    for key, each in counted.items():
        if len(each.types) != 1:
            continue
        (kind,) = each.types
        for name, (owned, most) in _of_key(members, key).items():
            before = found[name][kind]
            found[name][kind] = Share(
                before.guaranteed + owned * each.gpus_per_unit,
                before.limit + most * each.gpus_per_unit,
            )
    return found


def _of_key(members: Sequence[Member], key: Key) -> dict[str, tuple[Decimal, Decimal]]:
    """What each member owns and may use at most, in units of one resource in one flavor."""
    quotas = {member.name: dict(quotas_of(member)).get(key) for member in members}
    whole: defaultdict[str, Decimal] = defaultdict(Decimal)
    lendable: defaultdict[str, Decimal] = defaultdict(Decimal)
    kept: dict[str, Decimal] = {}
    for member in reversed(members):
        name, quota = member.name, quotas[member.name]
        whole[name] += quota.nominal_quota if quota else _NONE
        lendable[name] += quota.nominal_quota if quota else _NONE
        kept[name] = _kept(quota, lendable[name])
        if member.parent is not None:
            whole[member.parent] += whole[name]
            lendable[member.parent] += lendable[name] - kept[name]
    most: dict[str, Decimal] = {}
    found: dict[str, tuple[Decimal, Decimal]] = {}
    for member in members:
        name, quota = member.name, quotas[member.name]
        reach = lendable[name]
        if member.parent is not None:
            reach = kept[name] + most[member.parent]
            if quota is not None and quota.borrowing_limit is not None:
                reach = min(reach, lendable[name] + quota.borrowing_limit)
        most[name] = reach
        if isinstance(member.source, ClusterQueue) and quota is None:
            continue  # it may use only flavors that it names
        # What its members keep for themselves is beside what they take from here.
        found[name] = whole[name], reach + whole[name] - lendable[name]
    return found


def _kept(quota: ResourceQuota | None, lendable: Decimal) -> Decimal:
    if quota is None or quota.lending_limit is None:
        return _NONE
    return max(_NONE, lendable - quota.lending_limit)
