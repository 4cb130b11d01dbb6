"""Compute a role's offered load, which exceeds what it serves while requests pile up.

What arrives is what leaves plus growth: the completed requests per second, plus the growth per
second of the requests inside. In addition, waiting requests are to be served within some time; that
raises the load even where clients wait for responses before they send more, so that a saturated
service never sees more than it serves.

In tokens, a request counts as many as the completed ones had on average. Requests in progress are
counted as their tokens come, so only the growth of the waiting ones is added. A server that counts
no requests shows only the pace of those in progress: those that wait are to get the same.

What a gateway turned away, since no replica was there or all were full, arrived as well.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow through a role.

    `served`: in the unit of the load, per second. `completed`: requests per second. `growth`: the
    change per second of the requests inside, or for a load in tokens of the waiting ones.
    `waiting`, `running`: requests. `unserved`: requests per second that reached no replica.
    """

    served: float
    completed: float
    growth: float = 0.0
    waiting: float = 0.0
    running: float = 0.0
    unserved: float = 0.0


def offered(flow: Flow, drain_seconds: float) -> float:
    """The load in requests per second, with waiting ones served within this time."""
    arrived = max(0.0, flow.served + flow.growth) + flow.unserved
    return arrived + flow.waiting / drain_seconds


def offered_tokens(flow: Flow, drain_seconds: float) -> float | None:
    """The load in tokens per second; None while requests wait and none shows their length."""
    if flow.completed <= 0:
        return flow.served if flow.waiting <= 0 and flow.unserved <= 0 else None
    tokens = flow.served / flow.completed
    come = max(0.0, flow.served + tokens * flow.growth) + tokens * flow.unserved
    return come + tokens * flow.waiting / drain_seconds


def offered_at_pace(flow: Flow) -> float | None:
    """The load in tokens per second, if all requests get what those in progress do now.

    None while requests wait and none is in progress.
    """
    if flow.waiting <= 0:
        return flow.served
    if flow.running <= 0 or flow.served <= 0:
        return None
    return flow.served * (1 + flow.waiting / flow.running)
