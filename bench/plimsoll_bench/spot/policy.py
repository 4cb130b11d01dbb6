"""Where a job with a deadline should be in the next step: on spot, on on-demand, or nowhere.

Of the choices that cannot make it late, the one with the least expected cost to the end, over all
models of spot weighted by their present likelihood. Later learning is not anticipated: each model
gives its cost as if it were known to be true from the next step on.
"""

import math

from plimsoll_bench.spot.belief import FACTORS, Belief
from plimsoll_bench.spot.outlook import Outlook
from plimsoll_bench.spot.runs import UP, hazards
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing, safe_choices

MOST_STEPS = 1000


class DeadlinePolicy:
    """Decides for jobs under the same terms, with limited work and time.

    Steps are those of `runs`, ten minutes. Tables are made once, in seconds; a decision takes
    microseconds.
    """

    def __init__(self, terms: SpotTerms, *, work_seconds: float, seconds: float) -> None:
        self._terms = terms
        steps = math.ceil(seconds / terms.step_seconds)
        work_steps = math.ceil(work_seconds / terms.step_seconds)
        if max(steps, work_steps) > MOST_STEPS:
            raise ValueError(f"a deadline or work beyond {MOST_STEPS} steps is too far to look")
        self._outlook = Outlook(hazards(FACTORS), terms, work_steps=work_steps, steps=steps)

    def choice(self, standing: Standing, belief: Belief) -> Choice:
        """What to do in the step that comes."""
        safe = safe_choices(standing, self._terms, spot_is_up=belief.side == UP)
        if len(safe) == 1:
            return safe[0]
        step, stages = self._terms.step_seconds, self._outlook.stages
        left = math.floor(standing.seconds_left / step + 1e-9)
        work = standing.work_seconds / step
        costs = belief.weights() @ self._outlook.costs(left, belief.side, belief.bucket, work)
        modes = {each: stages.mode(each, standing.overhead_of(each, self._terms)) for each in safe}
        return min(safe, key=lambda each: (costs[modes[each]], each.value))
