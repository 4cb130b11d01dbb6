"""Plan inputs turn by turn: the last one stands while nothing differs but the time."""

from dataclasses import replace
from datetime import timedelta

import pytest

from plimsoll.control.plan_inputs import PlanInputs
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.seen import at, seen, with_pods
from support.objects.job_manifests import a_training_job, an_inference_job

RUNS = (fake_node("a"), *with_pods([at(a_training_job("runs"), "a")]))


def later(snapshot: Snapshot, seconds: float) -> Snapshot:
    return replace(snapshot, now=snapshot.now + timedelta(seconds=seconds))


@pytest.mark.parametrize(("seconds", "stands"), [(0, True), (14, True), (15, False), (-1, False)])
def test_it_stands_for_a_while_if_nothing_differs_but_the_time(
    seconds: float, *, stands: bool
) -> None:
    inputs, snapshot = PlanInputs(ProblemBuilder(), seconds=15), seen(*RUNS)
    first = inputs.of(snapshot, {})
    assert inputs.is_new(snapshot)
    again = later(snapshot, seconds)
    assert (inputs.of(again, {}) is first) is stands
    assert inputs.is_new(again) is not stands


def test_it_falls_with_anything_that_differs() -> None:
    inputs, snapshot = PlanInputs(ProblemBuilder(), seconds=15), seen(*RUNS)
    first = inputs.of(snapshot, {})
    other = seen(*RUNS, a_training_job("comes"))
    assert len(inputs.of(other, {}).problem.jobs) == len(first.problem.jobs) + 1
    for differing in (
        replace(snapshot, stuck=frozenset({"x"})),
        replace(snapshot, can_order=not snapshot.can_order),
        replace(snapshot, gpu_faults={"a": "XID 79"}),
    ):
        before = inputs.of(snapshot, {})
        assert inputs.of(differing, {}) is not before


def test_it_falls_with_the_clock_while_a_job_waits() -> None:
    inputs = PlanInputs(ProblemBuilder(), seconds=15)
    snapshot = seen(*RUNS, a_training_job("waits", gpus=8))
    first = inputs.of(snapshot, {})
    assert inputs.of(later(snapshot, 1), {}) is not first


def test_what_is_kept_wrongly_is_forgotten_when_it_is_said() -> None:
    builder, snapshot = ProblemBuilder(), seen(*RUNS)
    inputs = PlanInputs(builder, seconds=15)
    right = inputs.of(snapshot, {})
    builder.masks.spot = 0b1
    refuses = seen(*RUNS, an_inference_job("waits", role={"spot": {"allowed": False}}))
    wrong = inputs.of(refuses, {})
    inputs.forget()
    assert inputs.of(refuses, {}) == PlanInputs(ProblemBuilder(), seconds=15).of(refuses, {})
    assert inputs.of(refuses, {}).problem != wrong.problem
    assert inputs.of(snapshot, {}) == right


def test_a_fault_of_a_job_is_seen_at_once() -> None:
    builder, snapshot = ProblemBuilder(), seen(*RUNS)
    inputs = PlanInputs(builder, seconds=15)
    assert inputs.of(snapshot, {}).problem.jobs
    with builder.faults.guard(snapshot.now)(snapshot.jobs[0]):
        raise ValueError
    assert not inputs.of(later(snapshot, 1), {}).problem.jobs
