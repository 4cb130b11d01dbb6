"""Whatever spot does, no job is late; and the policy's costs are what they are said to be."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_placement.estimate.spot.belief import FACTORS, Belief
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing, safe_choices
from plimsoll_placement.estimate.spot.lifetimes import UP, hazards
from plimsoll_placement.estimate.spot.outlook import Outlook
from plimsoll_placement.estimate.spot.policy import SpotPolicy, sensible_choices

STEP = 600.0
WORK_STEPS, STEPS = 12, 24
POLICY = SpotPolicy()
ups = st.lists(st.booleans(), min_size=STEPS, max_size=STEPS)
overheads = st.sampled_from((0.0, 72.0, 720.0, 1440.0, 6000.0))


def terms_of(overhead: float) -> SpotTerms:
    return SpotTerms(STEP, overhead, spot_price=1, on_demand_price=3)


def after(standing: Standing, choice: Choice, overhead: float, left: float) -> Standing:
    """A step later, with what spot does then not known yet."""
    if choice is Choice.WAIT:
        return Standing(standing.work_seconds, left)
    start = standing.overhead_seconds if choice is standing.on else overhead
    worked = max(0.0, STEP - start)
    return Standing(standing.work_seconds - worked, left, choice, max(0.0, start - STEP))


def lived(up: Sequence[bool], overhead: float, steps: int) -> tuple[Standing, list[Choice]]:
    """How the job stands at its end or its deadline, and where it was."""
    terms, belief = terms_of(overhead), Belief(up[0])
    standing, was = Standing(WORK_STEPS * STEP, steps * STEP), list[Choice]()
    for step in range(steps):
        if step:
            belief = belief.later(STEP, spot_is_up=up[step])
        if standing.on is Choice.SPOT and not up[step]:
            standing = Standing(standing.work_seconds, standing.seconds_left)
        POLICY.begin_turn()
        choice = POLICY.choice(standing, terms, belief)
        assert choice in sensible_choices(standing, terms, spot_is_up=up[step])
        was.append(choice)
        left = standing.seconds_left - STEP
        standing = after(standing, choice, overhead, left)
        if standing.work_seconds <= 1e-6:
            break
    return standing, was


@given(up=ups, overhead=overheads, spare=st.integers(0, STEPS - WORK_STEPS))
def test_no_job_that_can_be_in_time_is_late(up: list[bool], overhead: float, spare: int) -> None:
    steps = max(WORK_STEPS + spare, WORK_STEPS + int(-(-overhead // STEP)))
    standing, was = lived(up, overhead, steps)
    assert standing.work_seconds <= 1e-6
    assert all(up[step] for step, choice in enumerate(was) if choice is Choice.SPOT)


@given(overhead=st.sampled_from((0.0, 72.0, 720.0, 1440.0)))
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
    safe = safe_choices(Standing(work, left), terms_of(overhead), spot_is_up=up)
    assert Choice.ON_DEMAND in safe


@given(overhead=overheads, work=st.floats(1, 1e9), slack=st.floats(0, 1e9), up=st.booleans())
def test_any_job_gets_one_of_the_safe_choices(
    overhead: float,
    work: float,
    slack: float,
    up: bool,  # noqa: FBT001 - drawn
) -> None:
    POLICY.begin_turn()
    standing = Standing(work, work + slack)
    sensible = sensible_choices(standing, terms_of(overhead), spot_is_up=up)
    assert POLICY.choice(standing, terms_of(overhead), Belief(up, 900.0)) in sensible


def test_a_turn_makes_no_more_outlooks_than_it_has_time_for() -> None:
    policy, belief = SpotPolicy(), Belief(spot_is_up=True)
    runs = Standing(1e5, 2e5, Choice.SPOT)
    found = [policy.choice(runs, terms_of(each), belief) for each in range(600, 60_000, 600)]
    assert found[0] is not None
    assert None in found
    waits = Standing(1e5, 2e5)
    assert policy.choice(waits, terms_of(50_000), Belief(spot_is_up=False)) is Choice.WAIT
    policy.begin_turn()
    assert policy.choice(runs, terms_of(50_000), belief) is not None


def test_nobody_waits_where_spot_is_up_or_the_job_runs() -> None:
    terms, spare = terms_of(720), 1e6
    waiting = Standing(3600, spare)
    assert Choice.WAIT in sensible_choices(waiting, terms, spot_is_up=False)
    assert Choice.WAIT not in sensible_choices(waiting, terms, spot_is_up=True)
    runs = Standing(3600, spare, Choice.ON_DEMAND)
    assert Choice.WAIT not in sensible_choices(runs, terms, spot_is_up=False)


def simulated_cost(outlook: Outlook, model: int, steps: int, work: int, draws: int) -> float:
    """The mean cost of doing as the outlook says where spot does as its model says."""
    generator, chances = np.random.default_rng(7), hazards(FACTORS)[model]
    total = 0.0
    for _ in range(draws):
        belief = Belief(spot_is_up=True)
        standing = Standing(work * STEP, steps * STEP)
        for left in range(steps, 0, -1):
            if standing.on is Choice.SPOT and belief.side != UP:
                standing = Standing(standing.work_seconds, standing.seconds_left)
            rest = standing.work_seconds / STEP
            choices = [c for c in Choice if c is not Choice.SPOT or belief.side == UP]
            costs = {c: outlook.costs(belief, left, rest, c, 0.0)[model] for c in choices}
            best = min(choices, key=lambda c: costs[c])
            total += {Choice.WAIT: 0.0, Choice.SPOT: 1 / 3, Choice.ON_DEMAND: 1.0}[best]
            standing = after(standing, best, 0, (left - 1) * STEP)
            if standing.work_seconds <= 1e-6:
                break
            ends = generator.random() < chances[belief.side, belief.bucket]
            belief = belief.later(STEP, spot_is_up=belief.spot_is_up != ends)
        total += max(0.0, standing.work_seconds / STEP) * 3
    return total / draws


@pytest.mark.slow
def test_the_outlook_gives_the_mean_cost_of_following_it() -> None:
    outlook, usual, up = Outlook(0, 1 / 3, work_steps=8, steps=12), 1, Belief(spot_is_up=True)
    assert FACTORS[usual] == 1.0
    for steps, work in ((4, 4), (12, 8)):
        outlooked = min(float(outlook.costs(up, steps, work, c, 0.0)[usual]) for c in Choice)
        assert abs(simulated_cost(outlook, usual, steps, work, 4000) - outlooked) < 0.05 * outlooked
