"""Compute a role's offered load, which exceeds what it serves while requests pile up.

What arrives is what leaves plus growth: the completed requests per second, plus the growth per
second of the requests inside. In addition, waiting requests are to be served within some time; that
raises the load even where clients wait for responses before they send more, so that a saturated
service never sees more than it serves.

In tokens, a request counts as many as the completed ones had on average. Requests in progress are
counted as their tokens come, so only the growth of the waiting ones is added.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow through a role.

    `served`: in the unit of the load, per second. `completed`: requests per second. `growth`: the
    change per second of the requests inside, or for a load in tokens of the waiting ones.
    `waiting`: requests.
    """

    served: float
    completed: float
    growth: float = 0.0
    waiting: float = 0.0


def offered(flow: Flow, drain_seconds: float) -> float:
    """The load in requests per second, with waiting ones served within this time."""
    return max(0.0, flow.served + flow.growth) + flow.waiting / drain_seconds


def offered_tokens(flow: Flow, drain_seconds: float) -> float | None:
    """The load in tokens per second; None while requests wait and none shows their length."""
    if flow.completed <= 0:
        return flow.served if flow.waiting <= 0 else None
    tokens = flow.served / flow.completed
    come = max(0.0, flow.served + tokens * flow.growth)
    return come + tokens * flow.waiting / drain_seconds
