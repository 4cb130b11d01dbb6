"""What is said of waiting jobs is true, whatever the cluster: numbers, reasons, remedies."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import assume, event, example, given

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import (
    Again,
    Explainer,
    Feasibility,
    Lack,
    Reason,
    Relaxation,
    Shortage,
    earliest_start,
    giving_way,
    proofs,
    relaxations,
)
from plimsoll_placement.explain.remains import remaining
from plimsoll_placement.explain.shortage.diagnosis import place_until_stuck
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import Assignment, Job, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve, solve_lean
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger
from support.problems.random_problems import random_problem
from support.problems.strategies import broken_problems, problems

QUICK = Effort(0.2)


def waiting(problem: Problem, placements: Placements) -> list[Job]:
    """The jobs that hold nothing and need at least one replica."""
    return [
        job
        for job in problem.jobs
        if not placements.get(job.name) and any(role.least for role in job.roles)
    ]


def half_of(placements: Placements) -> Placements:
    """Every other job's placements, so that others find room."""
    return {name: placements[name] for name in sorted(placements)[::2]}


def lacks(problem: Problem, placements: Placements) -> Iterator[tuple[Job, Lack]]:
    explainer = Explainer(problem, placements)
    return ((job, explainer.lack(job)) for job in waiting(problem, placements))


def placed_alone(problem: Problem, job: Job) -> bool:
    """Whether greedy places a job, at its least size, with no other in the problem."""
    roles = tuple(replace(role, counts=(role.least,)) for role in job.roles)
    fresh = replace(job, roles=roles, running=(), pinned=False)
    return bool(greedy_placements(replace(problem, jobs=(fresh,))).get(job.name))


@given(problems())
def test_job_that_cannot_fit_alone_is_never_placed_anew(problem: Problem) -> None:
    feasibility = Feasibility(problem)
    for job in problem.jobs:
        if not feasibility.fits_alone(job):
            event("cannot fit")
            assert not placed_alone(problem, job)


@given(problems())
def test_what_a_lack_says_is_free_is_what_the_ledger_has(problem: Problem) -> None:
    placements = greedy_placements(problem)
    remains = remaining(ledger_after(problem, placements))
    for job, lack in lacks(problem, placements):
        for shortage in () if lack.alone else lack.shortages:
            if len(job.roles) == 1:
                assert shortage.nodes.most_free_milli == most_free(remains, job, shortage)


def most_free(remains: Problem, job: Job, shortage: Shortage) -> int:
    """The most free on one node that the job may use, counted device by device."""
    role, asked = job.role(shortage.ask.role), shortage.ask.shape.gpu_milli
    most = 0
    for index, node in enumerate(remains.nodes):
        may_use = role.eligible >> index & 1 and node.open and node.usable
        if may_use and (shortage.spot_pods or not node.spot):
            for devices in node.devices:
                granted = devices.granted_milli(asked)
                if devices.gpu_type == shortage.ask.gpu_type and granted is not None:
                    whole = sum(milli == 1000 for milli in devices.free_milli) * 1000
                    part = max(devices.free_milli, default=0)
                    most = max(most, whole if granted >= 1000 else part)
    return most


@given(problems())
def test_job_that_there_is_room_for_can_be_placed_beside_the_others(problem: Problem) -> None:
    placements = half_of(greedy_placements(problem))
    assume(not violations(problem, placements))
    for job, lack in lacks(problem, placements):
        if lack.reason is Reason.PENDING:
            event("there is room")
            ledger = ledger_after(problem, placements)
            assert place_until_stuck(ledger, job) is None
            assignments = ledger.placed.get(job.name, ())
            assert violations(problem, {**placements, job.name: assignments}) == ()


@given(problems())
def test_job_with_a_shortage_cannot_be_placed_beside_the_others(problem: Problem) -> None:
    placements = greedy_placements(problem)
    remains = remaining(ledger_after(problem, placements))
    for job, lack in lacks(problem, placements):
        proven = len(job.roles) == 1 and all(s.bound < s.ask.groups for s in lack.shortages)
        if lack.shortages and job.gang and proven:
            event(str(lack.reason))
            assert not placed_alone(remains, job)


def assignments_alone(problem: Problem, job: Job) -> tuple[Assignment, ...]:
    """Where a job would be placed with no other in the problem; none if there is no room."""
    ledger = Ledger(problem)
    return () if place_until_stuck(ledger, job) else ledger.placed[job.name]


@given(problems())
def test_each_relaxation_lets_the_job_run_and_no_part_of_it_does(problem: Problem) -> None:
    placements = greedy_placements(problem)
    remains = remaining(ledger_after(problem, placements))
    for job in waiting(problem, placements):
        for relaxation in relaxations(problem, placements, job):
            event(f"{len(relaxation.changes)} changes")
            changed, relaxed = relaxation.applied(remains, job)
            assignments = assignments_alone(changed, relaxed)
            assert assignments
            assert not violations(with_only(changed, relaxed), {job.name: assignments})
            for part in parts(relaxation):
                assert not assignments_alone(*part.applied(remains, job))


@given(problems())
def test_greedy_agrees_with_every_relaxation_of_a_gang(problem: Problem) -> None:
    placements = greedy_placements(problem)
    remains = remaining(ledger_after(problem, placements))
    for job in waiting(problem, placements):
        for relaxation in relaxations(problem, placements, job) if job.gang else ():
            event(f"{len(relaxation.changes)} changes")
            assert placed_alone(*relaxation.applied(remains, job))
            assert not any(placed_alone(*part.applied(remains, job)) for part in parts(relaxation))


def parts(relaxation: Relaxation) -> Iterator[Relaxation]:
    """Every set of fewer changes."""
    for size in range(len(relaxation.changes)):
        yield from map(Relaxation, combinations(relaxation.changes, size))


def with_only(problem: Problem, job: Job) -> Problem:
    return replace(problem, jobs=(replace(job, running=(), pinned=False),))


@given(problems())
def test_job_that_waits_for_higher_priority_fits_without_it(problem: Problem) -> None:
    placements = greedy_placements(problem)
    for job, lack in lacks(problem, placements):
        if lack.reason is Reason.LOWER_PRIORITY:
            event("blamed")
            kept = {
                each.name: placements.get(each.name, ())
                for each in problem.jobs
                if each.priority <= job.priority
            }
            assert place_until_stuck(ledger_after(problem, kept), job) is None


@given(problems())
def test_every_sentence_is_short_and_names_what_is_needed(problem: Problem) -> None:
    placements = greedy_placements(problem)
    for job, lack in lacks(problem, placements):
        sentence = lack.sentence()
        assert len(sentence) <= 400
        assert ("needs " in sentence) == bool(lack.shortages)
        assert ("role " in sentence) == (len(job.roles) > 1 and bool(lack.shortages))


def wanted(job: Job) -> bool:
    """Whether every replica that the job needs is of use; the plan has no reason to run others."""
    return job.gang or all(role.wanted_milli for role in job.roles if role.least)


@pytest.mark.slow
@given(problems(most_nodes=6, most_jobs=6))
def test_each_proof_holds_when_all_is_planned_again_and_no_part_of_it_does(
    problem: Problem,
) -> None:
    again = Again(problem, solve(problem, QUICK).placements, QUICK)
    for job in filter(wanted, waiting(problem, again.placements)):
        found = proofs(again, job)
        assert found
        for proof in found:
            event(f"{len(proof.relaxation.changes)} changes")
            asked = again.firm() if proof.others_stay else again
            planned = asked.plan(job, proof.relaxation)
            assert planned.runs
            assert not violations(planned.problem, planned.solution.placements)
            assert not any(asked.plan(job, part).runs for part in parts(proof.relaxation))


@given(problems(most_nodes=6, most_jobs=6))
def test_at_its_earliest_start_a_job_runs_and_before_it_does_not(problem: Problem) -> None:
    again = Again(problem, greedy_placements(problem), Effort(0))
    ends = {name: 60 * place for place, name in enumerate(sorted(again.placements), start=1)}
    for job in filter(wanted, waiting(problem, again.placements)):
        start = earliest_start(again, job, ends)
        if start is not None:
            event("starts")
            gone = [name for name, end in ends.items() if end <= start.seconds]
            assert again.firm().plan(job, gone=gone).runs
            sooner = [name for name in gone if ends[name] < start.seconds]
            assert not start.seconds or not again.firm().plan(job, gone=sooner).runs


@given(broken_problems(most_nodes=6, most_jobs=8))
@example(random_problem(242, nodes=8, jobs=12)).via("a gang that is kept beyond its queue's limit")
def test_every_job_gets_a_reason_whatever_rules_are_broken_by_what_runs(
    problem: Problem,
) -> None:
    placements = solve_lean(problem, Effort(0)).placements
    assert not violations(problem, placements)
    explainer = Explainer(problem, placements)
    assert all(explainer.lack(job).sentence() for job in problem.jobs)
    waits = waiting(problem, placements)
    assert all(r.sentence() for job in waits for r in relaxations(problem, placements, job))
    again = Again(problem, placements, Effort(0))
    for found in (giving_way(again, job) for job in waits[:2]):
        event("somebody would give way" if found else "nobody would")
        assert found is None or found.assignments
