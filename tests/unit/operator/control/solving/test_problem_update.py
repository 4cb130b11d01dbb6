"""What search processes are sent: it makes the same problem again, from the one before."""

import asyncio
import pickle
from contextlib import closing
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.control.solving.problem_update import (
    Difference,
    ProblemUpdate,
    difference,
    update_of,
    whole,
)
from plimsoll.control.solving.solver_process import SolverProcess
from plimsoll.control.solving.solver_work import solved
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Job, Node
from plimsoll_placement.problem import Problem
from support.problems.builders import a_node, a_problem, a_queue, a_training_job, some_nodes
from support.programs.asynchronous import asynchronous

AT_ONCE = Effort(deterministic_seconds=0)


def changed(rng: Random, problem: Problem) -> Problem:
    """The problem after something has happened to it."""
    kept = tuple(job for job in problem.jobs if rng.random() < 0.8)
    arrived = tuple(
        a_training_job(f"new-{rng.randrange(10**6):06}") for _ in range(rng.choice((0, 2)))
    )
    others = tuple(
        replace(job, sequence=rng.randrange(9)) if rng.random() < 0.3 else job for job in kept
    )
    jobs = {job.name: job for job in (*others, *arrived)}
    nodes = tuple(
        replace(node, usable=rng.random() < 0.9) if rng.random() < 0.2 else node
        for node in problem.nodes
    )
    if rng.random() < 0.3:
        nodes = nodes[1:]
    allowance = rng.choice((None, 5))
    by_name = tuple(sorted(jobs.values(), key=lambda job: job.name))
    return replace(problem, jobs=by_name, nodes=nodes, loss_allowance=allowance)


def sent(update: ProblemUpdate) -> ProblemUpdate:
    """An update as the other process gets it."""
    return pickle.loads(pickle.dumps(update))  # noqa: S301 - our own


@given(st.integers(0, 10**9))
def test_updates_one_after_the_other_make_the_same_problems(seed: int) -> None:
    rng = Random(seed)
    ours = a_problem(some_nodes(6), [a_training_job(f"j{n}") for n in range(8)])
    theirs = sent(whole(ours, 0)).applied(None)
    for number in range(1, 6):
        before, ours = ours, changed(rng, ours)
        theirs = sent(update_of(before, ours, number)).applied(theirs)
        assert theirs == ours
        assert theirs.loss_allowance == ours.loss_allowance
        assert [node.name for node in theirs.nodes] == [node.name for node in ours.nodes]


def test_only_what_has_changed_is_sent_and_the_rest_stays_the_same_objects() -> None:
    jobs = [a_training_job(f"j{n}") for n in range(3)]
    before = a_problem(some_nodes(2), jobs)
    now = replace(before, jobs=(before.jobs[0], replace(before.jobs[1], sequence=7)))
    update = update_of(before, now, 1)
    assert update.fields == {}
    assert update.jobs.changed == (now.jobs[1],)
    assert update.jobs.gone == {"j2"}
    after = update.applied(before)
    assert after.jobs[0] is before.jobs[0]
    assert after.nodes is before.nodes


def test_what_is_not_in_the_order_of_names_is_sent_as_a_whole() -> None:
    nodes = (a_node("b"), a_node("a"))
    assert difference(some_nodes(2), nodes) is None
    before = a_problem(some_nodes(2), [])
    now = replace(before, nodes=nodes, queues=(a_queue("main"),))
    after = sent(update_of(before, now, 1)).applied(before)
    assert after == now


def test_nothing_differs_between_the_same_items() -> None:
    nodes: tuple[Node, ...] = some_nodes(2)
    jobs: tuple[Job, ...] = ()
    assert difference(nodes, nodes) == Difference()
    assert Difference[Job]().applied(jobs) is jobs


def test_a_process_says_so_if_it_does_not_know_what_it_is_sent_changes_of() -> None:
    first = a_problem(some_nodes(2), [a_training_job("j0")])
    another = a_problem(some_nodes(2), [a_training_job("j1")]).jobs[0]
    second = replace(first, jobs=(first.jobs[0], another))
    assert solved(update_of(first, second, 8), AT_ONCE) is None
    assert (found := solved(whole(first, 7), AT_ONCE)) is not None
    assert found.placements.keys() == {"j0"}
    assert (found := solved(update_of(first, second, 8), AT_ONCE)) is not None
    assert found.placements.keys() == {"j0", "j1"}
    # One in between never came, as when its search was given up.
    assert solved(update_of(first, second, 10), AT_ONCE) is None


@asynchronous
async def test_a_process_that_does_not_know_a_problem_is_sent_all_of_it() -> None:
    first = a_problem(some_nodes(2), [a_training_job("j0")])
    another = a_problem(some_nodes(2), [a_training_job("j1")]).jobs[0]
    second = replace(first, jobs=(first.jobs[0], another))
    with closing(SolverProcess()) as solver:
        assert (await solver.solve(first, AT_ONCE)).placements.keys() == {"j0"}
        # Begun, and given up at once: its process may never have heard of the problem.
        given_up = asyncio.create_task(solver.solve(second, AT_ONCE))
        await asyncio.sleep(0)
        given_up.cancel()
        found = await solver.solve(second, AT_ONCE)
        assert found.placements.keys() == {"j0", "j1"}
