"""The operator's policy without the operator: it decides at each tick, and learns from ticks."""

from plimsoll_placement.estimate.spot.belief import Belief
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing
from plimsoll_placement.estimate.spot.lifetimes import STEP_SECONDS
from plimsoll_placement.estimate.spot.policy import SpotPolicy

FIRST_SEEN_SECONDS = 5 * STEP_SECONDS
"""How long the run in which spot is first seen has lasted: most steps lie in long runs."""


class Planned:
    """Knows nothing of the pool before the first tick of the run."""

    def __init__(self, terms: SpotTerms, policy: SpotPolicy) -> None:
        self._terms, self._policy = terms, policy
        self._belief: Belief | None = None

    def choice(self, standing: Standing, *, spot_is_up: bool) -> Choice:
        """Where to be in this tick."""
        known = self._belief
        if known is None:
            known = Belief(spot_is_up, FIRST_SEEN_SECONDS)
        else:
            known = known.later(STEP_SECONDS, spot_is_up=spot_is_up)
        self._belief = known
        self._policy.begin_turn()
        found = self._policy.choice(standing, self._terms, known)
        if found is None:
            raise ValueError("one job's outlook takes more than a turn may")
        return found
