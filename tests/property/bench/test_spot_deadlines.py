"""Whatever spot does, no job is late; and the policy's costs are what they are said to be."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_bench.spot.belief import Belief
from plimsoll_bench.spot.outlook import Outlook
from plimsoll_bench.spot.policy import DeadlinePolicy
from plimsoll_bench.spot.runs import UP, hazards
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing, safe_choices

STEP = 600.0
WORK_STEPS, STEPS = 12, 24
POLICIES = {
    overhead: DeadlinePolicy(
        SpotTerms(STEP, overhead, spot_price=1, on_demand_price=3),
        work_seconds=WORK_STEPS * STEP,
        seconds=STEPS * STEP,
    )
    for overhead in (0.0, 72.0, 720.0, 1440.0)
}
ups = st.lists(st.booleans(), min_size=STEPS, max_size=STEPS)
overheads = st.sampled_from(sorted(POLICIES))


def after(standing: Standing, choice: Choice, overhead: float, left: float) -> Standing:
    """A step later, with what spot does then not known yet."""
    if choice is Choice.WAIT:
        return Standing(standing.work_seconds, left)
    start = standing.overhead_seconds if choice is standing.on else overhead
    worked = max(0.0, STEP - start)
    return Standing(standing.work_seconds - worked, left, choice, max(0.0, start - STEP))


def lived(up: Sequence[bool], overhead: float, steps: int) -> tuple[Standing, list[Choice]]:
    """How the job stands at its end or its deadline, and where it was."""
    policy, belief = POLICIES[overhead], Belief.at_first(spot_is_up=up[0])
    standing, was = Standing(WORK_STEPS * STEP, steps * STEP), list[Choice]()
    for step in range(steps):
        if step:
            belief = belief.a_step_later(spot_is_up=up[step])
        if standing.on is Choice.SPOT and not up[step]:
            standing = Standing(standing.work_seconds, standing.seconds_left)
        was.append(policy.choice(standing, belief))
        left = standing.seconds_left - STEP
        standing = after(standing, was[-1], overhead, left)
        if standing.work_seconds <= 1e-6:
            break
    return standing, was


@given(up=ups, overhead=overheads, spare=st.integers(0, STEPS - WORK_STEPS))
def test_no_job_that_can_be_in_time_is_late(up: list[bool], overhead: float, spare: int) -> None:
    steps = max(WORK_STEPS + spare, WORK_STEPS + int(-(-overhead // STEP)))
    standing, was = lived(up, overhead, steps)
    assert standing.work_seconds <= 1e-6
    assert all(up[step] for step, choice in enumerate(was) if choice is Choice.SPOT)


@given(overhead=overheads)
def test_spot_that_never_goes_down_is_all_that_is_used(overhead: float) -> None:
    _, was = lived([True] * STEPS, overhead, STEPS)
    assert {*was} <= {Choice.SPOT, Choice.WAIT}


@given(overhead=overheads)
def test_spot_that_never_comes_leaves_on_demand(overhead: float) -> None:
    standing, was = lived([False] * STEPS, overhead, STEPS)
    assert standing.work_seconds <= 1e-6
    assert Choice.SPOT not in was


@given(work=st.floats(0, 3000), left=st.floats(0, 6000), overhead=overheads, up=st.booleans())
def test_on_demand_is_always_safe(work: float, left: float, overhead: float, up: bool) -> None:  # noqa: FBT001 - drawn
    terms = SpotTerms(STEP, overhead, spot_price=1, on_demand_price=3)
    assert Choice.ON_DEMAND in safe_choices(Standing(work, left), terms, spot_is_up=up)


def simulated_cost(outlook: Outlook, model: int, steps: int, work: int, draws: int) -> float:
    """The mean cost of doing as the outlook says where spot does as its model says."""
    generator, chances = np.random.default_rng(7), hazards((1.0,))[model]
    total = 0.0
    for _ in range(draws):
        belief = Belief(UP, 1)
        standing = Standing(work * STEP, steps * STEP)
        for left in range(steps, 0, -1):
            if standing.on is Choice.SPOT and belief.side != UP:
                standing = Standing(standing.work_seconds, standing.seconds_left)
            rest = standing.work_seconds / STEP
            costs = outlook.costs(left, belief.side, belief.bucket, rest)[model]
            choices = [c for c in Choice if c is not Choice.SPOT or belief.side == UP]
            stages = outlook.stages
            best = min(choices, key=lambda c: costs[stages.mode(c, 0)])
            total += {Choice.WAIT: 0.0, Choice.SPOT: 1 / 6, Choice.ON_DEMAND: 0.5}[best]
            standing = after(standing, best, 0, (left - 1) * STEP)
            if standing.work_seconds <= 1e-6:
                break
            ends = generator.random() < chances[belief.side, belief.bucket]
            belief = belief.a_step_later(spot_is_up=(belief.side == UP) != ends)
        total += max(0.0, standing.work_seconds / STEP) * 3 * 0.5
    return total / draws


def test_the_outlook_gives_the_mean_cost_of_following_it() -> None:
    terms = SpotTerms(STEP, 0, spot_price=1, on_demand_price=3)
    outlook = Outlook(hazards((1.0,)), terms, work_steps=2, steps=2)
    outlooked = outlook.costs(2, UP, 0, 2)[0].min()
    # Spot now, and in the next step spot if it is still up, else on-demand.
    ends = hazards((1.0,))[0, UP, 0]
    assert abs(outlooked - (1 / 6 + (1 - ends) / 6 + ends / 2)) < 1e-5
    longer = Outlook(hazards((1.0,)), terms, work_steps=6, steps=9)
    outlooked = float(longer.costs(9, UP, 0, 6)[0].min())
    assert abs(simulated_cost(longer, 0, 9, 6, 4000) - outlooked) < 0.05 * outlooked
