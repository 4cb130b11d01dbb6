"""What holds of the worth of sizes whatever is known of a job."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from plimsoll_placement.estimate.elastic.prospect import Prospect
from plimsoll_placement.estimate.elastic.worth import WorthTerms, move_cost, worths
from plimsoll_placement.estimate.elastic.yields import demand
from plimsoll_placement.estimate.throughput.curves import Size

TERMS = WorthTerms()
SIZES = st.tuples(st.sampled_from("ABC"), st.sampled_from((1, 2, 4, 8, 16)))


@st.composite
def prospects(draw: st.DrawFn) -> Prospect:
    """Jobs that wait or run, with work declared or not."""
    rates: dict[Size, float] = draw(st.dictionaries(SIZES, st.floats(1e-4, 1e4), min_size=1))
    return Prospect(
        rates=rates,
        restart_seconds=draw(st.floats(0.0, 600.0)),
        left=draw(st.none() | st.floats(1e-3, 1e8)),
        running=draw(st.none() | st.sampled_from(sorted(rates))),
        done=draw(st.floats(0.0, 1e8)),
    )


@given(prospects())
def test_every_type_has_a_yield_above_zero_at_every_count(prospect: Prospect) -> None:
    asked = demand(prospect, TERMS)
    assert asked.restart_seconds >= 0
    for yields in asked.yields.values():
        assert len(yields) == len(asked.counts)
        assert min(yields) >= 1


@given(prospects(), st.floats(1.01, 100.0))
def test_a_size_that_turns_out_faster_is_not_worth_less(prospect: Prospect, factor: float) -> None:
    size = max(prospect.rates, key=lambda each: (prospect.rates[each], each))
    faster = replace(prospect, rates={**prospect.rates, size: prospect.rates[size] * factor})
    if faster.slowest == prospect.slowest:
        assert worths(faster, TERMS)[size] >= worths(prospect, TERMS)[size]


@given(prospects(), st.floats(1.0, 600.0))
def test_a_longer_restart_never_makes_a_change_cheaper(prospect: Prospect, more: float) -> None:
    longer = replace(prospect, restart_seconds=prospect.restart_seconds + more)
    # Up to rounding: where next to nothing is left, both come to the same.
    assert move_cost(longer, TERMS) >= move_cost(prospect, TERMS) * (1 - 1e-9)


@given(prospects(), st.floats(1e-3, 1e3))
def test_the_unit_of_progress_does_not_matter(prospect: Prospect, factor: float) -> None:
    scaled = replace(
        prospect,
        rates={size: rate * factor for size, rate in prospect.rates.items()},
        left=None if prospect.left is None else prospect.left * factor,
        done=prospect.done * factor,
    )
    was, now = demand(prospect, TERMS), demand(scaled, TERMS)
    assert abs(was.restart_seconds - now.restart_seconds) <= 1
    for kind, yields in was.yields.items():
        for one, other in zip(yields, now.yields[kind], strict=True):
            assert abs(one - other) <= 1 + max(one, other) // 1000
