"""The batch that processes agree on, as a number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_worker import Batch
from plimsoll_worker.batch import number_of

LARGEST = 2**22 - 1


@given(st.integers(1, LARGEST), st.integers(1, 256), st.integers(1, 64))
def test_every_process_finds_the_same_batch_in_its_number(
    local: int, accumulation: int, processes: int
) -> None:
    wanted = Batch(local, accumulation, local * accumulation * processes)
    number = number_of(wanted)
    assert 0 < number < 2**31
    assert Batch(8, 2, 16 * processes).changed(number) == wanted


def test_without_an_opinion_the_batch_stays() -> None:
    assert Batch(8, 2, 32).changed(number_of(None)) == Batch(8, 2, 32)


@pytest.mark.parametrize("batch", [Batch(LARGEST + 1, 1, 2**30), Batch(1, 257, 257)])
def test_what_does_not_fit_into_a_number_is_no_opinion(batch: Batch) -> None:
    assert number_of(batch) == 0


def test_a_batch_that_no_plan_has_chosen_stays() -> None:
    assert Batch(8).changed(number_of(Batch(16, 1, 32))) == Batch(8)
