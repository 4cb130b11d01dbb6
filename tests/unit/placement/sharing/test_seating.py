"""Replicas with parts of GPUs are seated where they do least to each other."""

from dataclasses import replace

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import Explainer
from plimsoll_placement.model import JobName, NodeName, Weights
from plimsoll_placement.sharing.seating import with_seats
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import solve
from support.problems.builders import (
    GIB,
    a_node,
    a_problem,
    a_training_job,
    an_inference_job,
    on,
    placed,
)
from support.problems.shared_gpus import a_shared_gpu, a_sharer, neighbours, places, seated


def test_the_heavy_are_kept_apart() -> None:
    jobs = [a_sharer("a", 20, 9), a_sharer("b", 20, 9), a_sharer("c", 20, 1), a_sharer("d", 20, 1)]
    found = seated(a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs))
    assert len([each for each in neighbours(found) if {"a", "b"} <= each]) == 0
    assert found.pressure is not None
    assert found.pressure.reached == found.pressure.bound == 10 / 40


def test_replicas_of_which_nothing_is_known_are_spread_evenly() -> None:
    jobs = [a_sharer(name) for name in "abcd"]
    found = seated(a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs))
    assert sorted(map(len, neighbours(found))) == [2, 2]


def test_an_unknown_load_counts_like_the_others_do() -> None:
    jobs = [a_sharer("a", 20, 6), a_sharer("b", 20), a_sharer("c", 20, 1), a_sharer("d", 20, 2)]
    found = seated(a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs))
    assert neighbours(found) == {frozenset({"a"}), frozenset({"b", "c", "d"})} or neighbours(
        found
    ) == {frozenset({"a", "c"}), frozenset({"b", "d"})}


def test_weights_are_never_more_than_there_is() -> None:
    """Four shares are free on each node; the memory is not."""
    jobs = [a_sharer(name, 50, 1) for name in "abc"]
    found = seated(a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs))
    assert sorted(map(len, neighbours(found))) == [1, 1]
    assert len(places(found)) == 2


@pytest.mark.parametrize("effort", [Effort(0), Effort(1)])
def test_searches_count_the_memory_too(effort: Effort) -> None:
    """Only 50 with 30 and 40 with 40 hold all four."""
    jobs = [a_sharer(name, gib) for name, gib in zip("abcd", (50, 40, 40, 30), strict=True)]
    problem = a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs)
    found = solve(problem, effort)
    assert violations(problem, found.placements) == ()
    assert len(found.placements) == (4 if effort.deterministic_seconds else len(found.placements))


def test_one_pod_cannot_have_the_memory_of_two_gpus() -> None:
    node = replace(a_shared_gpu("n0", 160), gpu_memory_each_bytes=80 * GIB)
    assert places(seated(a_problem([node], [a_sharer("a", 90)]))) == {}
    assert places(seated(a_problem([node], [a_sharer("a", 80), a_sharer("b", 80)]))) == {
        "a": "n0",
        "b": "n0",
    }


def test_a_more_important_service_gets_the_memory() -> None:
    low = a_sharer("low", 50, 1, runs_on="n0")
    high = a_sharer("high", 50, 1, priority=10)
    assert places(seated(a_problem([a_shared_gpu("n0")], [low, high]))) == {"high": "n0"}


def test_the_missing_memory_is_said() -> None:
    problem = a_problem([a_shared_gpu("n0")], [a_sharer("a", 50, runs_on="n0"), a_sharer("b", 40)])
    placements = placed(a=(on("n0", role="server"),))
    lack = Explainer(problem, placements).lack(problem.job_by_name[JobName("b")])
    assert lack.reason == "InsufficientResources"
    assert lack.sentence() == (
        "needs 0.25 × NVIDIA-H100-80GB-HBM3 with 40 GiB of GPU memory on one device; "
        "nodes with such GPUs free have at most 30 GiB of GPU memory left"
    )


def test_the_verifier_counts_known_weights() -> None:
    problem = a_problem([a_shared_gpu("n0")], [a_sharer("a", 50), a_sharer("b", 40)])
    both = placed(a=(on("n0", role="server"),), b=(on("n0", role="server"),))
    (broken,) = violations(problem, both)
    assert broken.rule == "GpuMemory"
    assert str(broken) == (f"GpuMemory n0: {90 * GIB} bytes of GPU memory taken of {80 * GIB}")


def test_the_verifier_knows_the_most_that_one_pod_can_have() -> None:
    node = replace(a_shared_gpu("n0", 160), gpu_memory_each_bytes=80 * GIB)
    problem = a_problem([node], [a_sharer("a", 90)])
    (broken,) = violations(problem, placed(a=(on("n0", role="server"),)))
    assert broken.message == f"one pod takes {90 * GIB} bytes of GPU memory, it can have {80 * GIB}"


def test_what_runs_pinned_with_too_much_is_excused() -> None:
    job = a_sharer("a", 90, runs_on="n0", pinned=True)
    problem = a_problem([a_shared_gpu("n0")], [job])
    assert violations(problem, placed(a=job.running)) == ()


# What runs


def crowded(*, load: int | None = 5, seconds: int = 60, weights: Weights | None = None) -> Solution:
    jobs = [a_sharer(n, 10, load, runs_on="n0", restart_seconds=seconds) for n in "abc"]
    problem = a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs)
    return seated(replace(problem, weights=weights or Weights()))


def moved(solution: Solution) -> int:
    return [*places(solution).values()].count("n1")


def test_a_replica_moves_where_that_pays() -> None:
    found = crowded()
    assert moved(found) == 1
    assert len(found.reseated) == 1


def test_none_moves_for_less_than_it_costs() -> None:
    assert moved(crowded(seconds=36_000)) == 0


def test_none_moves_if_its_load_is_not_known() -> None:
    assert moved(crowded(load=None)) == 0


def test_the_policy_decides_what_a_move_must_gain() -> None:
    assert moved(crowded(weights=Weights(break_even_percent=100_000))) == 0


def test_once_moved_none_moves_back() -> None:
    jobs = [a_sharer(n, 10, 5, runs_on=at) for n, at in zip("abc", ("n1", "n0", "n0"), strict=True)]
    problem = a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs)
    assert seated(problem).reseated == frozenset()


def test_a_small_change_of_load_moves_none() -> None:
    jobs = [
        a_sharer("a", 10, 20, runs_on="n0"),
        a_sharer("b", 10, 1, runs_on="n0"),
        a_sharer("c", 10, 20, runs_on="n1"),
    ]
    problem = a_problem([a_shared_gpu("n0"), a_shared_gpu("n1"), a_shared_gpu("n2")], jobs)
    less = replace(problem, nodes=problem.nodes[:2])
    assert seated(less).reseated == frozenset()


def test_pinned_replicas_stay() -> None:
    jobs = [a_sharer(n, 10, 5, runs_on="n0", pinned=True) for n in "abc"]
    problem = a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs)
    assert places(seated(problem)) == dict.fromkeys("abc", "n0")


def test_a_move_needs_memory_beside_all_that_serves_there_still() -> None:
    """Exchanging 60 and 30 would lower the pressure, but neither has room beside the other."""
    jobs = [
        a_sharer("a", 60, 9, runs_on="n0"),
        a_sharer("b", 10, 9, runs_on="n0"),
        a_sharer("c", 30, 1, runs_on="n1"),
        a_sharer("d", 45, 1, runs_on="n1"),
    ]
    problem = a_problem([a_shared_gpu("n0"), a_shared_gpu("n1")], jobs)
    assert seated(problem).reseated == frozenset()


def test_a_job_moves_one_replica_at_a_time() -> None:
    role = replace(a_sharer("s", 10, 5).roles[0], counts=(4,), wanted_milli=1000)
    running = tuple(on("n0", role="server", replica=index) for index in range(4))
    job = an_inference_job("s", roles=(role,), running=running)
    nodes = [a_shared_gpu("n0"), a_shared_gpu("n1"), a_shared_gpu("n2")]
    found = seated(a_problem(nodes, [job]))
    at = [each.nodes[0] for each in found.placements[JobName("s")]]
    assert at.count(NodeName("n0")) == 3


# What it leaves alone


def test_nodes_that_could_be_given_back_stay_vacant() -> None:
    nodes = [a_shared_gpu(f"n{index}", returnable=True) for index in range(3)]
    found = seated(a_problem(nodes, [a_sharer("a", 10, 5), a_sharer("b", 10, 5)]))
    assert neighbours(found) == {frozenset({"a", "b"})}


def test_dearer_nodes_are_not_taken_for_the_sake_of_pressure() -> None:
    dear = a_shared_gpu("n1", microdollars_per_gpu_hour=9_000_000)
    found = seated(
        a_problem([a_shared_gpu("n0"), dear], [a_sharer("a", 10, 5), a_sharer("b", 9, 5)])
    )
    assert neighbours(found) == {frozenset({"a", "b"})}


def test_closed_nodes_and_ineligible_ones_take_none() -> None:
    nodes = [a_shared_gpu("n0"), a_shared_gpu("n1", open=False), a_shared_gpu("n2")]
    jobs = [a_sharer(name, 10, 5) for name in "ab"]
    jobs = [replace(j, roles=(replace(j.roles[0], eligible=0b011),)) for j in jobs]
    assert places(seated(a_problem(nodes, jobs))) == dict.fromkeys("ab", "n0")


def test_cpu_and_shares_are_counted() -> None:
    nodes = [a_shared_gpu("n0", shares=2), a_shared_gpu("n1", shares=2, cpu_millis=1000)]
    jobs = [a_sharer(name, 10, 5) for name in "abc"]
    hungry = [
        replace(j, roles=(replace(j.roles[0], shape=replace(j.roles[0].shape, cpu_millis=1000)),))
        for j in jobs
    ]
    assert sorted(places(seated(a_problem(nodes, hungry))).values()) == ["n0", "n0", "n1"]


def test_a_problem_without_parts_of_gpus_is_left_as_it_is() -> None:
    problem = a_problem([a_node("n0")], [an_inference_job(), a_training_job()])
    found = solve(problem, Effort(0))
    assert with_seats(problem, found) is found


@pytest.mark.parametrize("wired", [0, 1])
def test_who_needs_other_resources_stays_and_the_others_move(wired: int) -> None:
    asks = a_sharer("a", 20, 9)
    role = replace(asks.roles[0], shape=replace(asks.roles[0].shape, others=(("rdma/hca", 1),)))
    jobs = [replace(asks, roles=(role,)), *(a_sharer(name, 20, 9) for name in "bcd")]
    nodes = [a_shared_gpu("n0"), a_shared_gpu("n1")]
    nodes[wired] = replace(nodes[wired], others=(("rdma/hca", 1),))
    found = seated(a_problem(nodes, jobs))
    assert places(found)["a"] == f"n{wired}"
    assert sorted(map(len, neighbours(found))) == [2, 2]
