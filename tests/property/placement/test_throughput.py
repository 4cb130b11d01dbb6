"""What holds of corrected rates whatever is stated and measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_placement.estimate.throughput.curves import MeasuredRate, corrected_rates

SIZES = st.tuples(st.sampled_from("ABC"), st.integers(1, 64))
RATES = st.floats(0.01, 1e5)
CURVES = st.dictionaries(SIZES, RATES, min_size=1, max_size=12)
MEASURED = st.lists(
    st.builds(MeasuredRate, st.sampled_from("ABC"), st.integers(1, 64), RATES, st.floats(1.0, 1e5)),
    max_size=8,
)


@given(CURVES, MEASURED)
def test_every_stated_size_keeps_a_rate_above_zero(
    stated: dict[tuple[str, int], float], measured: list[MeasuredRate]
) -> None:
    found = corrected_rates(stated, measured)
    assert found.keys() == stated.keys()
    assert all(rate > 0 for rate in found.values())


@given(CURVES, MEASURED, st.floats(0.01, 100.0))
def test_the_unit_of_rates_does_not_matter(
    stated: dict[tuple[str, int], float], measured: list[MeasuredRate], factor: float
) -> None:
    scaled = corrected_rates(
        {size: rate * factor for size, rate in stated.items()},
        [MeasuredRate(m.gpu_type, m.replicas, m.rate * factor, m.seconds) for m in measured],
    )
    for size, rate in corrected_rates(stated, measured).items():
        assert scaled[size] == pytest.approx(rate * factor, rel=1e-6)
