"""What is charged to whom between two observations."""

import pytest

from plimsoll_console.ledger.accounting.accrual import LONGEST_STEP_MS, accrued
from plimsoll_console.ledger.accounting.observation import (
    MS_PER_HOUR,
    Account,
    Level,
    Observation,
    Wait,
)
from plimsoll_console.ledger.accounting.tally import Use
from support.ledger.seen import (
    GPU,
    H100,
    MINUTE,
    START,
    a_node,
    a_pod,
    an_account,
    at,
    by_use,
)

GAP = 60 * MINUTE
STEP = MINUTE


def test_an_idle_node_is_idle() -> None:
    tally = accrued(at(START, [a_node()]), at(START + STEP, [a_node()]))
    assert by_use(tally) == {Use.IDLE: 8000 * STEP}


def test_a_node_that_takes_no_pods_is_unusable() -> None:
    node = a_node(usable=False)
    assert by_use(accrued(at(START, [node]), at(START + STEP, [node]))) == {
        Use.UNUSABLE: 8000 * STEP
    }


def test_a_pod_is_charged_from_its_start_to_its_end_through_its_stages() -> None:
    pod = a_pod(
        "a", milli=4000, since=START + 10, works=START + 20, leaves=START + 50, ends=START + 55
    )
    tally = accrued(at(START, [a_node()]), at(START + STEP, [a_node()], [pod]))
    assert by_use(tally) == {
        Use.STARTING: 4000 * 10,
        Use.USEFUL: 4000 * 30,
        Use.RESERVED: 4000 * 5,
        Use.IDLE: 8000 * STEP - 4000 * 45,
    }


def test_a_fraction_is_charged_as_one() -> None:
    pod = a_pod("a", milli=250)
    tally = accrued(at(START, [a_node()], [pod]), at(START + STEP, [a_node()], [pod]))
    assert by_use(tally)[Use.USEFUL] == 250 * STEP


def test_hours_are_split_at_full_hours() -> None:
    pod = a_pod("a", milli=8000, since=START - MINUTE, works=START - MINUTE)
    nodes = [a_node()]
    tally = accrued(at(START - MINUTE, nodes, [pod]), at(START + MINUTE, nodes, [pod]))
    hour = START // MS_PER_HOUR
    assert {key.hour: amount.milli_ms for key, amount in tally} == {
        hour - 1: 8000 * MINUTE,
        hour: 8000 * MINUTE,
    }


def test_what_was_there_before_a_gap_and_is_there_after_was_there_all_along() -> None:
    pod, nodes = a_pod("a", milli=3000), [a_node()]
    tally = accrued(at(START, nodes, [pod]), at(START + GAP, nodes, [pod]))
    assert by_use(tally) == {Use.USEFUL: 3000 * GAP, Use.UNOBSERVED: 5000 * GAP}


def test_what_began_in_a_gap_is_charged_from_its_true_start() -> None:
    pod = a_pod("a", milli=8000, since=START + 10 * MINUTE, works=START + 12 * MINUTE)
    tally = accrued(at(START, [a_node()]), at(START + GAP, [a_node()], [pod]))
    assert by_use(tally) == {
        Use.UNOBSERVED: 8000 * 10 * MINUTE,
        Use.STARTING: 8000 * 2 * MINUTE,
        Use.USEFUL: 8000 * 48 * MINUTE,
    }


def test_what_ended_in_a_gap_without_a_trace_is_unobserved() -> None:
    tally = accrued(at(START, [a_node()], [a_pod("a")]), at(START + GAP, [a_node()]))
    assert by_use(tally) == {Use.UNOBSERVED: 8000 * GAP}


def test_what_ended_in_a_gap_and_is_still_told_is_charged_to_its_end() -> None:
    before = at(START, [a_node()], [a_pod("a")])
    over = a_pod("a", ends=START + 15 * MINUTE)
    tally = accrued(before, at(START + GAP, [a_node()], [over]))
    assert by_use(tally)[Use.USEFUL] == 1000 * 15 * MINUTE


def test_a_node_counts_from_its_creation() -> None:
    node = a_node(created=START + 20_000)
    tally = accrued(at(START), at(START + STEP, [node]))
    assert by_use(tally) == {Use.IDLE: 8000 * (STEP - 20_000)}


def test_a_node_that_went_in_a_gap_is_unobserved_until_it_was_missed() -> None:
    tally = accrued(at(START, [a_node()], [a_pod("a")]), at(START + GAP))
    assert by_use(tally) == {Use.UNOBSERVED: 8000 * GAP}


def test_pods_whose_rounded_times_overlap_are_not_counted_twice() -> None:
    old = a_pod("old", milli=8000, ends=START + 30_000)
    new = a_pod("new", milli=8000, since=START + 29_000, works=START + 29_000)
    tally = accrued(at(START, [a_node()], [old]), at(START + STEP, [a_node()], [old, new]))
    assert by_use(tally) == {Use.USEFUL: 8000 * STEP}


def test_a_pod_that_was_replaced_within_a_step_leaves_its_gpus_to_the_next() -> None:
    old, other = a_pod("old", milli=8000), an_account("other")
    new = a_pod("new", milli=8000, since=START + 30_000, works=START + 30_000, account=other)
    tally = accrued(at(START, [a_node()], [old]), at(START + STEP, [a_node()], [new]))
    assert {key.account.name: amount.milli_ms for key, amount in tally} == {
        "train": 8000 * 30_000,
        "other": 8000 * 30_000,
    }


@pytest.mark.parametrize(("account", "use"), [(None, Use.FOREIGN), (an_account(), Use.RESERVED)])
def test_what_others_take_and_what_is_reserved_counts_as_that(
    account: Account | None, use: Use
) -> None:
    before = a_node(levels=[Level(GPU, 4000, account)])
    after = a_node(levels=[Level(GPU, 3000, account)])
    tally = accrued(at(START, [before]), at(START + STEP, [after]))
    assert by_use(tally) == {use: 3000 * STEP, Use.IDLE: 5000 * STEP}


def test_energy_is_that_of_working_and_of_idle_gpus() -> None:
    nodes, pod = [a_node(gpus=2)], a_pod("a")
    tally = accrued(at(START, nodes, [pod]), at(START + STEP, nodes, [pod]))
    drawn = {key.use: amount.millijoules for key, amount in tally}
    assert drawn == {Use.USEFUL: 560 * STEP, Use.IDLE: 75 * STEP}


@pytest.mark.parametrize("passed", [0, -1, -GAP])
def test_a_clock_that_stands_or_goes_back_charges_nothing(passed: int) -> None:
    assert not list(accrued(at(START, [a_node()]), at(START + passed, [a_node()])))


def a_wait(*, since: int = START, until: int | None = None, revision: int = 0) -> Wait:
    return Wait(an_account(), H100, 8000, since, revision, until)


def waiting(before: Wait | None, after: Wait, passed: int) -> int:
    first = Observation(START, waits=(before,) if before else ())
    tally = accrued(first, Observation(START + passed, waits=(after,)))
    return by_use(tally).get(Use.WAITING, 0) // 8000


def test_a_job_waits_from_its_creation_to_its_admission() -> None:
    assert waiting(None, a_wait(since=START + 5), GAP) == GAP - 5
    assert waiting(a_wait(), a_wait(until=START + 7, revision=1), GAP) == 7


def test_a_job_that_ran_in_a_gap_waited_only_since() -> None:
    again = a_wait(since=START + 50 * MINUTE, revision=1)
    assert waiting(a_wait(), again, GAP) == 10 * MINUTE


def test_the_longest_step_is_no_gap() -> None:
    nodes = [a_node()]
    step = accrued(at(START, nodes), at(START + LONGEST_STEP_MS, nodes))
    gap = accrued(at(START, nodes), at(START + LONGEST_STEP_MS + 1, nodes))
    assert set(by_use(step)) == {Use.IDLE}
    assert set(by_use(gap)) == {Use.UNOBSERVED}
