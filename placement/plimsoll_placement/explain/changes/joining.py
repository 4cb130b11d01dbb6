"""Join changes that raise, free or add the same thing."""

from collections.abc import Hashable
from dataclasses import replace

from plimsoll_placement.explain.changes.changes import (
    AddNodes,
    Change,
    FreeGpus,
    NewNodes,
    RaiseLimit,
    RaisePower,
)


def joined(one: Change, other: Change) -> Change | None:
    """One change for two that raise, free or add the same thing; None if they do not."""
    match one, other:
        case RaiseLimit(queue, gpu_type, milli), RaiseLimit() if (queue, gpu_type) == (
            other.queue,
            other.gpu_type,
        ):
            return replace(other, milli=milli + other.milli)
        case RaisePower(domain, milliwatts), RaisePower() if domain == other.domain:
            return replace(other, milliwatts=milliwatts + other.milliwatts)
        case AddNodes(like, role, count), AddNodes() if (like, role) == (other.like, other.role):
            return replace(other, count=count + other.count)
        case NewNodes(node, role, count), NewNodes() if (node, role) == (other.node, other.role):
            return replace(other, count=count + other.count)
        case FreeGpus(gpu_type, share, level), FreeGpus() if (gpu_type, share, level) == (
            other.gpu_type,
            other.share_milli,
            other.level_milli,
        ):
            return one.plus(other)
        case _:
            return None


def subject(change: Change) -> Hashable:
    """What a change is made to, regardless of the amount; more of the same is no other remedy."""
    match change:
        case RaiseLimit(queue, gpu_type):
            return RaiseLimit, queue, gpu_type
        case RaisePower(domain):
            return RaisePower, domain
        case _:
            return change
