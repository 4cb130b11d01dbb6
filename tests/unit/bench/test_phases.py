"""The engines of the benchmark of phases do what is said of them, and it scores what it says."""

import asyncio
from dataclasses import replace

import pytest

import phases
from plimsoll_bench.mixed_day.replica import Request
from plimsoll_bench.phases.choosing import Terms
from plimsoll_bench.phases.engines import Decode, Output, Prefill, Truth
from plimsoll_bench.phases.fleet import Promise

TRUTH = Truth(1000.0, 0.02, 0.01, 4)
TERMS = Terms(
    look_seconds=15, window_seconds=60, horizon_seconds=120, quantile=0.9, down_seconds=60
)


def a_task(**changes: float) -> phases.Task:
    """Twenty minutes of six requests a second."""
    requests = [Request(number / 6, 500, 20) for number in range(7200)]
    promise = Promise(first_token=2.5, output_token=0.05)
    task = phases.Task(requests, {phases.FAST: TRUTH}, promise, 300.0, 30.0, 256, 1.5)
    return replace(task, **changes)


def test_prompts_wait_for_those_before_them() -> None:
    engine = Prefill("p", TRUTH)
    assert [engine.take(0, 500), engine.take(0, 500), engine.take(5, 500)] == [0.5, 1.0, 5.5]
    engine.advance(1.0)
    assert (engine.counters.requests, engine.counters.tokens, engine.waiting) == (2, 1000, 0)


def test_tokens_take_longer_the_more_requests_there_are() -> None:
    outputs = [Output(10, 0.0) for _ in range(6)]
    engine = Decode("d", TRUTH)
    for output in outputs:
        engine.take(0, output)
    assert (engine.running, engine.waiting) == (4, 2)
    engine.advance(10.0)
    first, last = 0.02 + 4 * 0.01, 0.02 + 2 * 0.01
    assert [each.seconds for each in outputs[:4]] == pytest.approx([first] * 4)
    assert [each.seconds for each in outputs[4:]] == pytest.approx([first + last] * 2)
    assert engine.counters.tokens == pytest.approx(60)


@pytest.mark.slow
def test_the_fewest_replicas_that_keep_both_objectives_are_found() -> None:
    counts, run = phases.best_fixed(a_task())
    assert run.score.keeps(a_task().promise)
    larger = [role for role, count in counts.items() if count > 1]
    assert larger
    for role in larger:
        fewer = phases.fixed(a_task(), counts | {role: counts[role] - 1})
        assert not fewer.score.keeps(a_task().promise)


@pytest.mark.slow
def test_the_operator_keeps_both_objectives_though_its_profiles_are_wrong() -> None:
    run, choosing = asyncio.run(phases.chosen(a_task(), TERMS, 15.0))
    assert run.score.keeps(a_task().promise)
    [prefill, _] = choosing.job.status.roles
    stated = choosing.job.spec.roles[0].profiles[0].load
    assert stated is not None
    assert all(each.load < stated for each in prefill.measured)


@pytest.mark.slow
def test_types_that_serve_at_once_are_both_learned() -> None:
    slow = phases.slower(TRUTH, 1.5)
    task = replace(a_task(fast=1), truths={phases.FAST: TRUTH, phases.SLOW: slow})
    _, choosing = asyncio.run(phases.chosen(task, TERMS, 15.0))
    for role, status in zip(choosing.job.spec.roles, choosing.job.status.roles, strict=True):
        learned = {each.type for each in status.measured}
        assert learned == {each.type for each in role.profiles}
