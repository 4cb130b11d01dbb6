"""The topology domains in which pods may be placed, in the order to try them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import Assignments, Job, NodeName
from plimsoll_placement.state.device_pool import Ints
from plimsoll_placement.state.ledger import Ledger


@dataclass(slots=True)
class Field:
    """The candidate nodes: their rows, how many pods each has room for, what is free.

    `places` are their positions in the device pools of the GPU type, counted across all of them.
    """

    rows: Ints
    room: Ints
    free: Ints
    prices: Ints
    places: Ints

    def within(self, keep: NDArray[np.bool_]) -> "Field":
        """Only the marked nodes."""
        if keep.all():
            return self
        return Field(
            self.rows[keep], self.room[keep], self.free[keep], self.prices[keep], self.places[keep]
        )


def parts(  # noqa: PLR0913 - what is wanted where, and what is there
    ledger: Ledger, job: Job, field: Field, held: Assignments, *, pods: int, inside: bool
) -> Iterator[Field]:
    """The parts of a field to try, best first: preferred domains, then whatever is allowed.

    `held`: what the job has already that pods of a gang must be near.
    `inside`: only within one domain of the level that the gang prefers, not across several.
    """
    if int(field.room.sum()) < pods:
        return
    placed = [name for each in held for name in each.nodes] if job.gang else []
    if job.preferred_level is not None and job.gang:
        for part in _in_one_domain(ledger, job.preferred_level, pods, field, placed):
            if job.required_level is None or _one_domain(ledger, job.required_level, part, placed):
                yield part
    if inside:
        return
    for part in (*_near(ledger, job, pods, field), field):
        if job.required_level is None:
            yield part
        else:
            yield from _in_one_domain(ledger, job.required_level, pods, part, placed)


def _near(ledger: Ledger, job: Job, pods: int, field: Field) -> Iterator[Field]:
    """The cheapest nodes in the preferred-level domains where a service already runs.

    If it runs nowhere yet: in the domain with the most room, for its other replicas are to come.
    """
    if job.gang or job.preferred_level is None:
        return
    cheapest = field.within(field.prices == field.prices.min())
    domains = ledger.domains(job.preferred_level)
    numbers = domains[cheapest.rows]
    index, placed = ledger.problem.node_index, ledger.placed.get(job.name, ())
    mine = np.array([int(domains[index[n]]) for a in placed for n in a.nodes], dtype=np.int64)
    if not len(mine):
        mine = np.array([np.bincount(numbers, weights=cheapest.room).argmax()])
    near = cheapest.within(np.isin(numbers, mine))
    if int(near.room.sum()) >= pods:
        yield near


def _in_one_domain(
    ledger: Ledger, level: int, pods: int, field: Field, placed: list[NodeName]
) -> Iterator[Field]:
    domains = ledger.domains(level)
    mine = {int(domains[ledger.problem.node_index[name]]) for name in placed}
    numbers = domains[field.rows]
    rooms = np.bincount(numbers, weights=field.room).astype(np.int64)
    candidates = [int(d) for d in np.flatnonzero(rooms >= pods) if not mine or mine == {d}]
    first_name = {d: int(ledger.rank[field.rows[numbers == d]].min()) for d in candidates}
    are_alike = not len(field.prices) or field.prices.min() == field.prices.max()
    prices = {d: 0 if are_alike else _price(field.within(numbers == d), pods) for d in candidates}
    for domain in sorted(candidates, key=lambda d: (prices[d], int(rooms[d]), first_name[d])):
        yield field.within(numbers == domain)


def _price(domain: Field, pods: int) -> int:
    """What so many pods cost on the cheapest nodes of a domain that has room for them."""
    order = np.argsort(domain.prices, kind="stable")
    before = np.cumsum(domain.room[order]) - domain.room[order]
    filled = np.clip(pods - before, 0, domain.room[order])
    return int((filled * domain.prices[order]).sum())


def _one_domain(ledger: Ledger, level: int, part: Field, placed: list[NodeName]) -> bool:
    rows = {*part.rows.tolist(), *(ledger.problem.node_index[name] for name in placed)}
    return len({int(ledger.domains(level)[row]) for row in rows}) == 1
