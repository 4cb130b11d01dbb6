"""How much load is offered to a role, which is more than it serves while requests pile up.

What comes is what goes plus what more there is than before: the completed a second, and by how much
the requests within grow a second. Besides, who waits is to be served within some time; that asks
for more even where clients wait for their answers before they send more, and a full service
therefore sees no more than it serves.

In tokens a request counts as many as the completed had on average. Those that are being answered
are counted while their tokens come, so only the growth of those that wait is added.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flow:
    """What goes through a role.

    `served`: in the unit of the load, a second. `completed`: requests a second. `growth`: by how
    many requests a second what is within, or of a load in tokens what waits, becomes more.
    `waiting`: requests.
    """

    served: float
    completed: float
    growth: float = 0.0
    waiting: float = 0.0


def offered(flow: Flow, drain_seconds: float) -> float:
    """The load in requests a second, of which those that wait are served within this time."""
    return max(0.0, flow.served + flow.growth) + flow.waiting / drain_seconds


def offered_tokens(flow: Flow, drain_seconds: float) -> float | None:
    """The load in tokens a second; None while requests wait and none tells how long they are."""
    if flow.completed <= 0:
        return flow.served if flow.waiting <= 0 else None
    tokens = flow.served / flow.completed
    come = max(0.0, flow.served + tokens * flow.growth)
    return come + tokens * flow.waiting / drain_seconds
