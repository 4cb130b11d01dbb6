"""Where a job with a deadline should be: on spot, on on-demand, or nowhere.

Of the choices that cannot make it late, the one with the least expected cost to the end, over all
models of spot weighted by their present likelihood. Later learning is not anticipated: each model
gives its cost as if it were known to be true from the next step on.
"""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import takewhile

from plimsoll_placement.estimate.spot.belief import Belief
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing, safe_choices
from plimsoll_placement.estimate.spot.lifetimes import STEP_SECONDS
from plimsoll_placement.estimate.spot.outlook import Outlook

SIZES = (72, 144, 288)
"""Outlooks reach this many steps, the last two days. Further ahead, work and time shrink alike,
which costs nothing that can be measured."""
MOST_KEPT = 24
"""How many outlooks are kept, of up to 4 MiB each: long ones are kept more coarsely."""
KEPT_STEPS = 36
"""For how many amounts of time and of work costs are kept."""
MOST_NEW_CELLS = SIZES[-1] ** 2
"""How much is made in a turn: half a second of work."""
LEAST_OVERHEAD_STEPS = 0.1
OVERHEAD_RATIO = 1.1
"""Starts whose length differs by less than this share an outlook."""
MOST_OVERHEADS = 80
PRICES = 20
"""How many prices of spot are told apart, as shares of that of on-demand."""


def sensible_choices(
    standing: Standing, terms: SpotTerms, *, spot_is_up: bool
) -> tuple[Choice, ...]:
    """The safe choices, without waiting where spot is up or the job runs.

    To wait until spot has lasted for a while would save next to nothing, and nobody would expect
    it; nor to stop a job that runs.
    """
    safe = safe_choices(standing, terms, spot_is_up=spot_is_up)
    if Choice.SPOT in safe or standing.on is not Choice.WAIT:
        return tuple(each for each in safe if each is not Choice.WAIT)
    return safe


@dataclass(frozen=True, slots=True)
class OutlookTerms:
    """What an outlook is made for: the length of a start, the price of spot, work and time."""

    overhead: int
    price: int
    work_steps: int
    steps: int

    @property
    def cells(self) -> int:
        """How much work it is to make."""
        return self.work_steps * self.steps

    def made(self) -> Outlook:
        """The outlook."""
        overhead = LEAST_OVERHEAD_STEPS * OVERHEAD_RATIO**self.overhead
        return Outlook(
            overhead,
            self.price / PRICES,
            work_steps=self.work_steps,
            steps=self.steps,
            every=self.steps // KEPT_STEPS,
        )


class SpotPolicy:
    """Decides for any number of jobs, with outlooks that it keeps from one turn to the next."""

    def __init__(self) -> None:
        self._outlooks: OrderedDict[OutlookTerms, Outlook] = OrderedDict()
        self._new_cells = 0

    def begin_turn(self) -> None:
        """Let new outlooks be made again."""
        self._new_cells = 0

    def choice(self, standing: Standing, terms: SpotTerms, belief: Belief) -> Choice | None:
        """The cheapest sensible choice.

        If finding out takes more than a turn may: to wait, which is safe as well, or None if that
        is no choice.
        """
        among = sensible_choices(standing, terms, spot_is_up=belief.spot_is_up)
        if len(among) == 1:
            return among[0]
        shrunk = min(1.0, SIZES[-1] * STEP_SECONDS / max(standing.seconds_left, 1.0))
        left = standing.seconds_left * shrunk / STEP_SECONDS
        work = standing.work_seconds * shrunk / STEP_SECONDS
        outlook = self._outlook(terms, work, left)
        if outlook is None:
            return Choice.WAIT if Choice.WAIT in among else None
        weights, overhead = belief.weights(), max(terms.overhead_seconds, 1.0)

        def cost(choice: Choice) -> tuple[float, str]:
            starting = min(1.0, standing.overhead_of(choice, terms) / overhead)
            by_model = outlook.costs(belief, left, work, choice, starting)
            return float(weights @ by_model), choice.value

        return min(among, key=cost)

    def _outlook(self, terms: SpotTerms, work: float, left: float) -> Outlook | None:
        wanted = _outlook_terms(terms, work, left)
        found = self._outlooks.get(wanted)
        if found is None:
            if self._new_cells + wanted.cells > MOST_NEW_CELLS:
                return None
            self._new_cells += wanted.cells
            found = self._outlooks[wanted] = wanted.made()
            if len(self._outlooks) > MOST_KEPT:
                self._outlooks.popitem(last=False)
        self._outlooks.move_to_end(wanted)
        return found


def _outlook_terms(terms: SpotTerms, work: float, left: float) -> OutlookTerms:
    lengths = (LEAST_OVERHEAD_STEPS * OVERHEAD_RATIO**each for each in range(MOST_OVERHEADS))
    overhead = terms.overhead_seconds / STEP_SECONDS / OVERHEAD_RATIO**0.5
    price = round(PRICES * terms.spot_price / terms.on_demand_price)
    return OutlookTerms(
        overhead=sum(1 for _ in takewhile(lambda length: length < overhead, lengths)),
        price=min(max(price, 1), PRICES - 1),
        work_steps=_size(work),
        steps=_size(left),
    )


def _size(steps: float) -> int:
    return next((size for size in SIZES if steps <= size), SIZES[-1])
