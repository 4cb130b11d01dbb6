"""The cluster in a screen, for people: the longest lists are cut short."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, TypeVar

from plimsoll.cli.invocation import as_called
from plimsoll.cli.output.ages import age
from plimsoll.cli.output.document import Document
from plimsoll.cli.output.table import Column, Table
from plimsoll.cli.views.amounts import shown
from plimsoll.cli.views.queues import queues_table
from plimsoll.cli.views.status import Status
from plimsoll.naming import first_few

T = TypeVar("T")

MOST: Final = 8
"""Rows of a table; how many more there are is said below."""
_GPUS: Final = (
    Column("GPU TYPE"),
    Column("TOTAL", is_number=True),
    Column("USED", is_number=True),
    Column("IDLE", is_number=True),
    Column("UNUSABLE", is_number=True),
)
_WAITING: Final = (
    Column("WAITING JOB"),
    Column("QUEUE"),
    Column("PRIORITY", is_number=True),
    Column("SINCE", is_number=True),
    Column("REASON"),
)
_NODES: Final = (
    Column("NODE"),
    Column("GPUS", is_number=True),
    Column("STATE", is_state=True),
    Column("PODS"),
)
_POWER: Final = (
    Column("POWER DOMAIN"),
    Column("MEASURED W", is_number=True),
    Column("EXPECTED W", is_number=True),
    Column("BUDGET W", is_number=True),
    Column("CAPPED NODES", is_number=True),
)
_PROBLEMS: Final = (Column("PROBLEM"), Column("REASON"))


def status_document(found: Status, now: datetime) -> Document:
    """The status as paragraphs and tables; what there is nothing of is left out."""
    return [
        "\n".join(_head(found, now)),
        Table(_GPUS, tuple(_gpus(found))),
        queues_table(found.queues[:MOST], now, repeat=False),
        *_more(found.queues, "queues: plimsoll queue"),
        _waiting(found, now),
        *_more(found.waiting, "jobs wait: plimsoll queue QUEUE"),
        _nodes(found),
        *_more(found.closed_nodes, "nodes: plimsoll top nodes"),
        *_ordered(found),
        Table(_POWER, tuple(_power(found))),
        *_more(found.power, "power domains: kubectl get powerdomains"),
        _problems(found),
        *_more(found.problems, "problems: plimsoll status -o json"),
    ]


def _head(found: Status, now: datetime) -> Iterator[str]:
    policy = found.policy
    if policy is None and found.policy_is_known:
        yield "There is no PlacementPolicy: plans are carried out, and none is published."
    elif policy is not None:
        does = {"Enforce": "carried out", "Advise": "only published"}.get(policy.mode, policy.mode)
        yield f"Plans are {does} (mode {policy.mode}, objective {policy.objective})."
        plan = policy.last_plan
        if plan is None:
            yield "No plan has been made yet: is the operator running?"
        else:
            gap = (
                ""
                if plan.gap_percent is None
                else f", at most {plan.gap_percent:g} % from the best"
            )
            yield (
                f"Last plan {age(plan.at, now)} ago: {plan.admitted} placed,"
                f" {plan.held} waiting{gap}."
            )
    jobs = "job has" if found.running == 1 else "jobs have"
    waits = "waits" if len(found.waiting) == 1 else "wait"
    yield f"{found.running} {jobs} a place, {len(found.waiting)} {waits}."


def _gpus(found: Status) -> Iterator[tuple[str, ...]]:
    for each in found.gpus:
        yield each.gpu_type, *map(shown, (each.total, each.used, each.idle, each.unusable))


def _waiting(found: Status, now: datetime) -> Table:
    few = found.waiting[:MOST]
    rows = (
        (
            each.job,
            each.queue,
            "?" if each.priority is None else str(each.priority),
            age(each.since, now),
            each.reason,
        )
        for each in few
    )
    return Table(_WAITING, tuple(rows), "WHY", tuple(each.message for each in few))


def _nodes(found: Status) -> Table:
    few = found.closed_nodes[:MOST]
    rows = (
        (each.node, shown(each.gpus), each.reason, "leave" if each.leaves else "stay")
        for each in few
    )
    return Table(_NODES, tuple(rows), "WHY", tuple(each.message for each in few))


def _ordered(found: Status) -> Iterator[str]:
    for each in found.ordered_nodes:
        count = len(each.orders)
        nodes = "1 node is" if count == 1 else f"{count} nodes are"
        yield f"{nodes} on the way for pool {each.pool}: {first_few(each.orders)}."


def _power(found: Status) -> Iterator[tuple[str, ...]]:
    for each in found.power[:MOST]:
        numbers = (each.measured_watts, each.expected_watts, each.budget_watts, each.capped_nodes)
        yield each.name, *map(shown, numbers)


def _problems(found: Status) -> Table:
    few = found.problems[:MOST]
    rows = tuple((each.subject, each.reason) for each in few)
    return Table(_PROBLEMS, rows, "WHAT", tuple(each.message for each in few))


def _more(things: Sequence[T], what: str) -> Iterator[str]:
    """How many more there are than are shown, and how to see them."""
    more = len(things) - MOST
    if more > 0:
        yield f"… and {more} more {as_called(what)}"
