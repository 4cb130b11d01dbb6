"""Choose between spot, on-demand and waiting for a job with a deadline, by what it will cost."""

from collections.abc import Set as AbstractSet

from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.spot.headroom import Headroom
from plimsoll.planning.spot.market import Market
from plimsoll.planning.training.expected_end import Left
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing
from plimsoll_placement.estimate.spot.policy import SpotPolicy

STEP_SECONDS = 60
"""How long the plan may take to react, not counting starts."""


def minds_money(snapshot: Snapshot) -> bool:
    """Whether jobs may wait for spot because it costs less."""
    if snapshot.policy is None:
        return False
    objective = snapshot.policy.spec.objective
    return objective.weights is None and objective.preset == "Economy"


class Economy:
    """The choices of one turn. What jobs go for is reserved for them."""

    def __init__(self, market: Market, room: Headroom, policy: SpotPolicy) -> None:
        self._market, self._room, self._policy = market, room, policy

    def choice(
        self, view: JobView, left: Left, on: AbstractSet[str], *, is_on_spot: bool
    ) -> Choice | None:
        """Where a job that could still stay on spot should be; None if that is all the same.

        `on` are the nodes that it runs on. A job without room off spot is never told to wait:
        nothing could then end it in time.
        """
        offer = self._market.spot_offer(view, on)
        price = self._on_demand_price(view, is_off=bool(on) and not is_on_spot)
        if offer is None or price is None or not 0 < offer.price < price:
            return None
        where = (Choice.SPOT if is_on_spot else Choice.ON_DEMAND) if on else Choice.WAIT
        if where is Choice.ON_DEMAND and not offer.belief.spot_is_up:
            return None
        terms = SpotTerms(STEP_SECONDS, left.start_seconds, offer.price, price)
        standing = Standing(left.work_seconds, left.seconds, where)
        found = self._policy.choice(standing, terms, offer.belief)
        if found is Choice.SPOT and not is_on_spot:
            self._market.promise(view)
        return found

    def _on_demand_price(self, view: JobView, *, is_off: bool) -> float | None:
        """The price of its work where it runs off spot, or would find room there."""
        placement = view.training.status.placement if view.training is not None else None
        if is_off and placement is not None:
            return self._market.on_demand_price(view, placement.accelerator_type)
        kind = self._room.type_for(view)
        return None if kind is None else self._market.on_demand_price(view, kind)
