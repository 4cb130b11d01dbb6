"""What is reported of a side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_bench.beside.book import GangBook
from plimsoll_bench.karpenter.ledger import ClaimBook

HALF_SECONDS = 5.0
"""A gang counts as half bought if for longer than this only some of its pods have nodes: nodes that
are launched together come up one after the other."""


@dataclass(frozen=True, slots=True)
class Figures:
    """`nodes`: how many were launched. `dollars`: their prices from creation to deletion.

    `seconds`: until all gangs had run. `wait_..._s`: from when a gang was asked for until all its
    workers ran. Of the node-seconds paid for, `half_bought_node_seconds` had a pod of a gang that
    lacked others, and `idle_node_seconds` none: nodes boot, wait, and go. `restarts`: how often a
    gang lost its nodes before its end. `mixed_gangs`: how many started on several instance types.
    """

    nodes: int
    dollars: float
    seconds: float
    wait_p50_s: float
    wait_p95_s: float
    half_bought_gangs: int
    half_bought_node_seconds: float
    idle_node_seconds: float
    node_seconds: float
    restarts: int
    mixed_gangs: int


def figures_of(claims: ClaimBook, gangs: Sequence[GangBook], seconds: float) -> Figures:
    """The figures, once all gangs have run and all nodes are gone."""
    waits = sorted(math.nan if g.started is None else g.started - g.asked for g in gangs)
    types = claims.instance_types
    used, half = sum(gang.used for gang in gangs), sum(gang.half for gang in gangs)
    return Figures(
        nodes=claims.nodes,
        dollars=round(claims.dollars, 2),
        seconds=round(seconds, 1),
        wait_p50_s=round(_rank(waits, 0.5), 1),
        wait_p95_s=round(_rank(waits, 0.95), 1),
        half_bought_gangs=sum(gang.longest_half > HALF_SECONDS for gang in gangs),
        half_bought_node_seconds=round(half, 1),
        idle_node_seconds=round(claims.node_seconds - used - half, 1),
        node_seconds=round(claims.node_seconds, 1),
        restarts=sum(gang.restarts for gang in gangs),
        mixed_gangs=sum(len({types[node] for node in gang.nodes}) > 1 for gang in gangs),
    )


def _rank(ordered: Sequence[float], share: float) -> float:
    """The smallest value that this share of all do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
