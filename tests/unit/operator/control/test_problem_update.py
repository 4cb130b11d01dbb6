"""What search processes are sent: it makes the same problem again, from the one before."""

import pickle
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.control.problem_update import Difference, ProblemUpdate, difference, update_of, whole
from plimsoll_placement.model import Job, Node
from plimsoll_placement.problem import Problem
from support.problems.builders import a_node, a_problem, a_queue, a_training_job, some_nodes


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
