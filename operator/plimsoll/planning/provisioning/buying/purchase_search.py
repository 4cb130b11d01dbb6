"""Search for the fewest nodes to buy for the jobs that wait.

Where the budget does not suffice for all, those that could be paid are offered alone: a job may do
with a cheaper type, and an elastic gang with fewer.

Each problem that the search yields is solved by its caller, which sends back the placements: the
operator solves in a process of its own, the command line at once.
"""

from collections import Counter
from collections.abc import Callable, Generator
from decimal import Decimal
from typing import Final

from plimsoll.planning.provisioning.buying.offers import (
    Offer,
    bought,
    fewest,
    is_no_worse,
    with_fewer,
)
from plimsoll.planning.provisioning.buying.purchases import Purchases, payable, purchases, with_more
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem

TRIES: Final = 3
"""How often it is tried to buy fewer nodes for the same jobs."""

Search = Generator[Problem, Placements | None, Purchases | None]


def outcome(search: Search, solve: Callable[[Problem], Placements]) -> Purchases:
    """What a search finds whose problems are all solved at once."""
    found: Placements | None = None
    while True:
        try:
            problem = search.send(found)
        except StopIteration as end:
            return end.value or Purchases()
        found = solve(problem)


def purchase_search(offer: Offer | None, left: Decimal | None) -> Search:
    """What to buy for no more than what is left an hour; None if that could not be worked out.

    Placements are None where a problem could not be solved.
    """
    if offer is None:
        return Purchases()
    found = yield offer.problem
    if found is None:
        return None
    most, least = bought(offer, found), fewest(offer, found)
    for _ in range(TRIES):
        if most == least:
            break
        better = yield with_fewer(offer, least).problem
        if better is not None and is_no_worse(offer, better, found):
            found = better
            break
        least = Counter({pool: -(-(least[pool] + most[pool]) // 2) for pool in most})
    result = purchases(offer, found, left)
    if not result.unpaid:
        return result
    cheaper = yield with_fewer(offer, payable(offer, result, left)).problem
    return None if cheaper is None else with_more(result, purchases(offer, cheaper, left))
