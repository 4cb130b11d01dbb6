"""What pods need besides GPUs, CPU and memory, such as network devices, is given only once."""

from collections import Counter
from dataclasses import replace

import pytest

from plimsoll_placement.check import Rule, violations
from plimsoll_placement.cpsat.exact.scope import Scope
from plimsoll_placement.cpsat.exact.solving import solved as exactly
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import Explainer, relaxations
from plimsoll_placement.model import SINGLE, Amounts, Job, JobName, Node, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.ranges import MOST_REQUESTED, out_of_range
from plimsoll_placement.score.score import score
from plimsoll_placement.solve import solve
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import (
    a_mixable_role,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    placed,
)

HCA, DISK = "rdma/hca", "ephemeral-storage"
AT_ONCE, LONG = Effort(deterministic_seconds=0), Effort(deterministic_seconds=2)


def nodes(*hcas: int, gpus: int = 8) -> list[Node]:
    """Nodes with so many network devices each."""
    return [
        a_node(f"n{index}", gpus=gpus, others=((HCA, count),) if count else ())
        for index, count in enumerate(hcas)
    ]


def a_gang(name: str, workers: int = 1, *, hcas: int = 1, running: tuple[str, ...] = ()) -> Job:
    """A gang of workers with one GPU and some network devices each."""
    others = ((HCA, hcas),) if hcas else ()
    worker = a_role(counts=(workers,), others=others)
    return a_training_job(name, worker=worker, running=gang_on(*running))


def solved(problem: Problem, effort: Effort = LONG) -> Placements:
    found = solve(problem, effort).placements
    assert violations(problem, found) == ()
    return found


def used(placements: Placements, name: str) -> Counter[str]:
    """How many pods of a job are on each node."""
    return Counter(n for each in placements.get(JobName(name), ()) for n in each.nodes)


@pytest.mark.parametrize(("has", "rules"), [(4, []), (3, [Rule.OTHER_RESOURCES])])
def test_the_verifier_counts_what_a_node_has(has: int, rules: list[Rule]) -> None:
    problem = a_problem(nodes(has), [a_gang("job", 2, hcas=2)])
    found = violations(problem, placed(job=gang_on("n0", "n0")))
    assert [each.rule for each in found] == rules
    assert [each.message for each in found] == ["4 of rdma/hca taken of 3"] * len(rules)


def test_what_is_held_may_exceed_it_but_nothing_is_added() -> None:
    held = replace(a_gang("held", 2, running=("n0", "n0")), pinned=True)
    problem = a_problem(nodes(1), [held, a_gang("new")])
    assert violations(problem, placed(held=held.running)) == ()
    both = violations(problem, placed(held=held.running, new=gang_on("n0")))
    assert [each.rule for each in both] == [Rule.OTHER_RESOURCES]
    assert used(solved(problem), "new") == Counter()


@pytest.mark.parametrize("effort", [AT_ONCE, LONG])
def test_a_gang_spreads_where_a_node_has_too_few(effort: Effort) -> None:
    problem = a_problem(nodes(2, 0, 2), [a_gang("job", 4)])
    assert used(solved(problem, effort), "job") == {"n0": 2, "n2": 2}


def test_who_needs_none_leaves_them_to_who_does() -> None:
    jobs = [a_gang("plain", 8, hcas=0), a_gang("wired", 8)]
    found = solved(a_problem(nodes(8, 0), jobs))
    assert used(found, "wired") == {"n0": 8}
    assert used(found, "plain") == {"n1": 8}


def test_of_several_that_want_them_only_as_many_run_as_there_are() -> None:
    jobs = [a_gang(f"job-{index}", hcas=2) for index in range(4)]
    found = solved(a_problem(nodes(5), jobs))
    assert sum(used(found, job.name).total() for job in jobs) == 2


def test_a_more_important_job_gets_those_of_others() -> None:
    low = a_gang("low", 4, running=("n0",) * 4)
    high = replace(a_gang("high", 4), priority=100)
    found = solved(a_problem(nodes(4), [low, high]), AT_ONCE)
    assert used(found, "high") == {"n0": 4}
    assert used(found, "low") == Counter()


def test_who_can_do_without_moves_for_who_cannot() -> None:
    """Both need a whole node; only one has network devices, on which the other sits."""
    plain = a_gang("plain", 8, hcas=0, running=("n0",) * 8)
    wired = replace(a_gang("wired", 8), urgency_milli=20_000)
    found = solved(a_problem(nodes(8, 0), [plain, wired]))
    assert used(found, "wired") == {"n0": 8}
    assert used(found, "plain") == {"n1": 8}


def test_replicas_of_a_service_are_limited_too() -> None:
    role = a_mixable_role(wanted_milli=4000, role=a_role("server", others=((DISK, 400),)))
    node = a_node(others=((DISK, 1000),))
    found = solved(a_problem([node], [an_inference_job("serve", roles=(role,))]))
    assert used(found, "serve") == {"n0": 2}


def test_the_ledger_gives_back_what_it_took() -> None:
    problem = a_problem(nodes(5), [a_gang("job", 2, hcas=2)])
    (job,), ledger = problem.jobs, Ledger(problem)
    (pool,) = ledger.pools_of(next(iter(job.roles[0].yields)))
    assert ledger.room(pool, job.roles[0], spot=True).tolist() == [2]
    assert ledger.take(job, gang_on("n0", "n0"))
    assert not ledger.take(job, gang_on("n0", "n0", "n0")[2:])
    assert ledger.room(pool, job.roles[0], spot=True).tolist() == [0]
    assert ledger.room_at(pool, 0, job.roles[0]) == 0
    assert ledger.others_left(0) == ((HCA, 1),)
    ledger.clear(job)
    assert ledger.room_at(pool, 0, job.roles[0]) == 2


def test_a_ledger_turns_to_nodes_that_have_more_or_less() -> None:
    job = a_gang("job", 2, hcas=2)
    before, after = a_problem(nodes(5, 2), [job]), a_problem(nodes(3, 4), [job])
    ledger = Ledger(before)
    assert ledger.take(job, gang_on("n0", "n0"))
    assert ledger.turn_to(after)
    assert ledger.other(HCA).tolist() == [-1, 4]
    assert not ledger.is_within_limits
    assert ledger.turn_to(before)
    assert ledger.is_within_limits


def explained(problem: Problem, placements: Placements) -> tuple[str, list[str]]:
    """Why a job waits, in words, and what would help."""
    job = problem.job_by_name[JobName("job")]
    lack = Explainer(problem, placements).lack(job)
    found = [each.sentence() for each in relaxations(problem, placements, job)]
    return lack.sentence(), found


def test_who_waits_for_them_says_so_and_what_would_help() -> None:
    other = a_gang("other", 3)
    problem = a_problem(nodes(4), [other, a_gang("job", hcas=2)])
    assert explained(problem, placed(other=gang_on("n0", "n0", "n0"))) == (
        (
            "needs 1 × NVIDIA-H100-80GB-HBM3 with 2 × rdma/hca; "
            "nodes with such GPUs free have at most 1 × rdma/hca left"
        ),
        ["free 1 × rdma/hca on one node (n0)", "add 1 node like n0"],
    )


def test_where_no_node_has_any_such_a_node_is_to_be_added() -> None:
    storage = a_role(counts=(2,), others=((DISK, 3 << 30), (HCA, 1)))
    problem = a_problem(nodes(0), [a_training_job("job", worker=storage)])
    assert explained(problem, {}) == (
        (
            "needs 2 pods with 1 × NVIDIA-H100-80GB-HBM3, 3 GiB of ephemeral-storage and "
            "1 × rdma/hca each; nodes with such GPUs free have at most 0 GiB of "
            "ephemeral-storage and 0 × rdma/hca left"
        ),
        ["free 6 GiB of ephemeral-storage and 2 × rdma/hca on one node (n0)"],
    )


def test_a_job_that_asks_for_absurd_amounts_is_refused() -> None:
    shape: Amounts = ((HCA, MOST_REQUESTED + 1),)
    job = a_training_job(worker=a_role(others=shape))
    asks, most = MOST_REQUESTED + 1, MOST_REQUESTED
    text = f"a pod of role worker asks for {asks} of {HCA}; {most} are the most"
    assert out_of_range(job) == text


PORT = f"{SINGLE}host port TCP 29500"


def a_listener(name: str, workers: int = 1) -> Job:
    return a_training_job(name, worker=a_role(counts=(workers,), others=((PORT, 1),)))


@pytest.mark.parametrize("effort", [AT_ONCE, LONG])
def test_of_a_port_every_node_has_one_unless_it_says_that_it_is_taken(effort: Effort) -> None:
    free = [a_node(f"n{index}") for index in range(2)]
    taken = a_node("taken", others=((PORT, 0),))
    problem = a_problem([taken, *free], [a_listener("job", 2), a_listener("late")])
    found = solved(problem, effort)
    assert used(found, "job") + used(found, "late") in ({"n0": 1, "n1": 1}, {"n0": 1}, {"n1": 1})
    assert used(found, "job") == {"n0": 1, "n1": 1}
    twice = violations(problem, placed(job=gang_on("n0", "n0")))
    assert [each.message for each in twice] == [f"2 of {PORT} taken of 1"]
    there = violations(problem, placed(late=gang_on("taken")))
    assert [each.message for each in there] == [f"1 of {PORT} taken of 0"]


def test_a_port_that_is_held_is_held_in_the_exact_model_too() -> None:
    jobs = [a_listener("held"), a_listener("job")]
    problem = a_problem([a_node()], jobs)
    scope = Scope(problem, placed(held=gang_on("n0")), problem.jobs[1:], frozenset({0}))
    answer = exactly(scope, score(problem, scope.placements), 20.0)
    assert answer.assignments is None
    assert answer.is_proven


def test_who_lacks_a_port_says_which() -> None:
    problem = a_problem([a_node()], [a_listener("other"), a_listener("job")])
    assert explained(problem, placed(other=gang_on("n0"))) == (
        (
            "needs 1 × NVIDIA-H100-80GB-HBM3 with a host port TCP 29500; "
            "nodes with such GPUs free offer no host port TCP 29500"
        ),
        ["free a host port TCP 29500 on one node (n0)", "add 1 node like n0"],
    )
    two = a_problem([a_node()], [a_listener("job", 2)])
    assert explained(two, {})[0] == (
        "needs 2 pods with 1 × NVIDIA-H100-80GB-HBM3 and a host port TCP 29500 each; "
        "there are CPU, memory, host port TCP 29500 and pod slots for 1 of 2 pods"
    )


def test_what_a_ledger_leaves_says_which_ports_are_taken() -> None:
    problem = a_problem([a_node(others=((HCA, 2),))], [a_listener("job")])
    ledger = Ledger(problem)
    assert ledger.others_left(0) == ((HCA, 2),)
    assert ledger.take(problem.jobs[0], gang_on("n0"))
    assert ledger.others_left(0) == ((HCA, 2), (PORT, 0))
    taken = a_problem([a_node(others=((HCA, 2), (PORT, 0)))], problem.jobs)
    assert ledger.turn_to(taken)
    assert not ledger.is_within_limits
