"""Say what a waiting job has to do with nodes that are not there yet."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from plimsoll.api.values.durations import duration_text
from plimsoll.observe.nodes.pool_templates import way_of
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.provisioning.buying.purchases import Purchases, cost
from plimsoll.planning.provisioning.future_nodes import FutureNode
from plimsoll.vocabulary.reasons import Reason


def explained(holds: Iterable[Hold], found: Purchases, why_not: str | None) -> Iterator[Hold]:
    """The holds, which also say what the jobs have to do with nodes that are not there yet.

    `why_not`: what keeps nodes from being bought; None if nothing does.
    """
    for hold in holds:
        nodes, unpaid = found.waiting.get(hold.job), found.unpaid.get(hold.job)
        if unpaid is not None:
            yield could_start_on(hold, unpaid, found.why_unpaid[hold.job])
        elif nodes is None:
            yield hold
        elif why_not is None or all(each.order for each in nodes):
            yield waits_for_nodes(hold, nodes)
        else:
            yield could_start_on(hold, nodes, why_not)


def obstacle(snapshot: Snapshot) -> str | None:
    """What of the policy and the pools keeps nodes from being bought; None if nothing does."""
    if snapshot.advises:
        return "plans are only advice"
    if all(way_of(pool) is None for pool in snapshot.pools):
        return "no GPUPool says what to order, in provisioning.nodeClaim or provisioningRequest"
    return None


def waits_for_nodes(hold: Hold, nodes: Sequence[FutureNode]) -> Hold:
    """The hold of a job that starts once these nodes have arrived, which may include bought ones.

    What would let it start without them stays part of it.
    """
    message = f"{coming_text(nodes)}; {hold.message}"
    return replace(hold, reason=Reason.PROVISIONING, message=message, inadmissible=False)


def could_start_on(hold: Hold, nodes: Sequence[FutureNode], why_not: str) -> Hold:
    """The hold of a job for which these nodes are not bought, and why."""
    return replace(hold, message=f"{hold.message}; {to_buy_text(nodes, why_not)}")


def coming_text(nodes: Sequence[FutureNode]) -> str:
    """That a job waits for nodes that come."""
    return f"waits for {_listed(nodes)}{_since(nodes)}, usually there after {_time(nodes)}"


def to_buy_text(nodes: Sequence[FutureNode], why_not: str) -> str:
    """When a job could start on nodes that are not bought, for how much, and why they are not."""
    price = cost(each for each in nodes if each.order is None)
    when = f"it could start after {_time(nodes)}, for {price:.2f} an hour"
    return f"with {_listed(nodes)} {when}: {why_not}"


def _listed(nodes: Iterable[FutureNode]) -> str:
    counts = Counter(each.pool.metadata.name for each in nodes)
    return " and ".join(
        f"{count} node{'s' if count > 1 else ''} of GPUPool {pool}"
        for pool, count in sorted(counts.items())
    )


def _since(nodes: Iterable[FutureNode]) -> str:
    times = [each.order.since for each in nodes if each.order is not None]
    ordered: list[datetime] = [each for each in times if each is not None]
    return f", ordered at {max(ordered):%H:%M} UTC" if ordered else ""


def start_time(nodes: Iterable[FutureNode]) -> timedelta:
    """How long until all of them have usually come, from their order."""
    return max(each.start_time for each in nodes)


def _time(nodes: Iterable[FutureNode]) -> str:
    return duration_text(start_time(nodes))
