"""Divide a node's time among those that had its devices, so that the parts sum to the whole.

At each moment the claims are met in their order, as far as the devices reach; what is left is
nobody's. So whatever claims overlap, as a pod's end and the next one's start do by their rounded
times, no moment of a device is counted twice and none is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from plimsoll_console.ledger.accounting.observation import NOBODY, Account, Devices, Holding
from plimsoll_console.ledger.accounting.tally import RowKey, Tally, Use, hours_between


class Span(NamedTuple):
    """A time from one moment up to another."""

    start_ms: int
    end_ms: int


class Claim(NamedTuple):
    """Devices that somebody had for a time."""

    start_ms: int
    end_ms: int
    milli: int
    account: Account
    use: Use
    watts: int


def claims_of(holding: Holding, devices: Devices, span: Span) -> Iterable[Claim]:
    """What a pod had within a time, by the stages of its life."""
    end = span.end_ms if holding.ends_ms is None else min(holding.ends_ms, span.end_ms)
    leaves = end if holding.leaves_ms is None else min(holding.leaves_ms, end)
    works = leaves if holding.works_ms is None else min(holding.works_ms, leaves)
    stages = (
        (holding.since_ms, works, Use.STARTING, holding.watts),
        (works, leaves, Use.USEFUL, holding.watts),
        (leaves, end, Use.RESERVED, devices.idle_watts),
    )
    since = max(span.start_ms, holding.since_ms)
    for start, until, use, watts in stages:
        begins = max(start, since)
        if begins < until:
            yield Claim(begins, until, holding.milli, holding.account, use, watts)


def divide(tally: Tally, devices: Devices, span: Span, claims: Sequence[Claim], rest: Use) -> None:
    """Add the time of some devices to a tally, all of it; what nobody claims is `rest`."""
    if _most_at_once(claims) > devices.milli:
        claims = list(_met(claims, devices.milli))
    left = {hour: devices.milli * ms for hour, ms in hours_between(*span)}
    for claim in claims:
        for hour, milliseconds in hours_between(claim.start_ms, claim.end_ms):
            had = claim.milli * milliseconds
            left[hour] -= had
            key = RowKey(hour, claim.account, devices.place, claim.use)
            tally.spend(key, had, claim.watts)
    watts = 0 if rest is Use.UNOBSERVED else devices.idle_watts
    for hour, free in left.items():
        if free:
            tally.spend(RowKey(hour, NOBODY, devices.place, rest), free, watts)


def _most_at_once(claims: Iterable[Claim]) -> int:
    """The most that is claimed at any moment."""
    changes = [(claim.start_ms, claim.milli) for claim in claims]
    changes += [(claim.end_ms, -claim.milli) for claim in claims]
    # Of changes at one moment, what is given back comes first.
    return max(accumulate(milli for _, milli in sorted(changes)), default=0)


def _met(claims: Sequence[Claim], milli: int) -> Iterator[Claim]:
    """The claims as far as so many milli-GPUs reach, those before others first."""
    edges = sorted({edge for claim in claims for edge in (claim.start_ms, claim.end_ms)})
    for start, end in pairwise(edges):
        left = milli
        for claim in claims:
            if claim.start_ms <= start < claim.end_ms and left > 0:
                part = min(claim.milli, left)
                left -= part
                yield claim._replace(start_ms=start, end_ms=end, milli=part)
