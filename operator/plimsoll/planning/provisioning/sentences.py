"""Say what a waiting job has to do with nodes that are not there yet."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from plimsoll.api.values.durations import duration_text
from plimsoll.planning.actions import Hold
from plimsoll.planning.provisioning.future_nodes import FutureNode, hourly_price
from plimsoll.vocabulary.reasons import Reason


def waits_for_nodes(hold: Hold, nodes: Iterable[FutureNode]) -> Hold:
    """The hold of a job that starts once these nodes have arrived, which may include bought ones.

    What would let it start without them stays part of it.
    """
    nodes = [*nodes]
    text = f"waits for {_listed(nodes)}{_since(nodes)}, usually there after {_time(nodes)}"
    return replace(hold, reason=Reason.PROVISIONING, message=f"{text}; {hold.message}")


def could_start_on(hold: Hold, nodes: Iterable[FutureNode], why_not: str) -> Hold:
    """The hold of a job for which these nodes are not bought, and why."""
    nodes = [*nodes]
    price = sum(hourly_price(each.pool) for each in nodes if each.order is None)
    text = f"with {_listed(nodes)} it could start after {_time(nodes)}, for {price:.2f} an hour"
    return replace(hold, message=f"{hold.message}; {text}: {why_not}")


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


def _time(nodes: Iterable[FutureNode]) -> str:
    terms = (each.pool.spec.provisioning for each in nodes)
    return duration_text(max(each.start_time for each in terms if each is not None))
