"""Half of a service, rounded up, starts in one place at most, where that costs nobody anything."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Unpack

import pytest

from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics import spreading
from plimsoll_placement.model import DomainName, GpuType, Job, JobName, Node
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve, solve_lean
from support.problems.builders import (
    A100,
    H100,
    JobFields,
    a_mixable_role,
    a_node,
    a_power_domain,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    some_nodes,
)

AT_ONCE = Effort(0)


def a_service(
    replicas: int,
    *,
    gpus: int = 1,
    pods: int = 1,
    here: Sequence[str] = (),
    types: Sequence[GpuType] = (H100, A100),
    **fields: Unpack[JobFields],
) -> Job:
    """A service that needs so many replicas, of which some run on these nodes."""
    role = a_mixable_role(
        counts=range(1, replicas + 1),
        wanted_milli=replicas * 1000,
        role=a_role(gpu_milli=gpus * 1000, pods_per_replica=pods),
    )
    role = replace(role, yields=dict.fromkeys(types, (1000,)))
    held = gang_on(*here, role="server")
    return replace(an_inference_job(roles=(role,), running=held), **fields)


def nodes_of(problem: Problem, effort: Effort = AT_ONCE) -> list[str]:
    """The node of each pod of the service, by replica."""
    found = solve_lean(problem, effort)
    assert found.score >= solve(problem, effort).score
    return [name for each in found.placements[JobName("serve")] for name in each.nodes]


def per_node(problem: Problem) -> list[int]:
    return sorted(Counter(nodes_of(problem)).values())


@pytest.mark.parametrize(
    ("replicas", "expected"), [(1, [1]), (2, [1, 1]), (3, [1, 2]), (4, [2, 2]), (7, [3, 4])]
)
def test_a_node_gets_half_of_a_service_at_most(replicas: int, expected: list[int]) -> None:
    assert per_node(a_problem(some_nodes(3), [a_service(replicas)])) == expected


def test_the_same_holds_after_a_search() -> None:
    waiting = [a_training_job(f"t{i}", worker=a_role(gpu_milli=5000)) for i in range(3)]
    problem = a_problem(some_nodes(3), [a_service(2), *waiting])
    assert len(set(nodes_of(problem, Effort(1)))) == 2


def test_what_runs_does_not_move_for_it() -> None:
    together = a_service(2, here=["n0", "n0"])
    assert nodes_of(a_problem(some_nodes(2), [together])) == ["n0", "n0"]
    more = a_service(3, here=["n0", "n0"])
    assert nodes_of(a_problem(some_nodes(2), [more])) == ["n0", "n0", "n1"]
    late = a_service(4, here=["n0", "n0", "n0"])
    assert nodes_of(a_problem(some_nodes(2), [late])) == ["n0", "n0", "n0", "n1"]
    grown = a_service(6, here=["n0", "n0"])
    assert per_node(a_problem(some_nodes(2), [grown])) == [3, 3]


def zoned(*zones: str) -> list[Node]:
    return [a_node(f"n{i}", topology=(zone,)) for i, zone in enumerate(zones)]


def zones_of(nodes: Iterable[Node], names: Iterable[str]) -> list[int]:
    zone = {str(node.name): node.topology[0] for node in nodes}
    return sorted(Counter(zone[each] for each in names).values())


@pytest.mark.parametrize(
    ("replicas", "gpus", "expected"), [(2, 8, [1, 1]), (4, 1, [2, 2]), (4, 8, [1, 1, 2])]
)
def test_a_zone_gets_half_of_a_service_at_most(
    replicas: int, gpus: int, expected: list[int]
) -> None:
    nodes = zoned("a", "a", "a", "b", "c")
    problem = a_problem(nodes, [a_service(replicas, gpus=gpus)], levels=("zone",))
    assert zones_of(nodes, nodes_of(problem)) == expected


def test_within_the_only_zone_nodes_still_count() -> None:
    nodes = zoned("a", "a")
    assert per_node(a_problem(nodes, [a_service(2)], levels=("zone",))) == [1, 1]


def test_a_service_that_is_to_be_close_together_stays_so() -> None:
    together = a_service(2, preferred_level=0)
    assert per_node(a_problem(zoned("a", "b"), [together], levels=("zone",))) == [2]


def test_what_a_replica_must_be_in_binds_only_its_own_pods() -> None:
    each_in_one = a_service(2, required_level=0)
    assert per_node(a_problem(zoned("a", "b"), [each_in_one], levels=("zone",))) == [1, 1]


def test_nothing_dearer_is_used_for_it() -> None:
    dear = a_node("n1", microdollars_per_gpu_hour=2_000_000)
    cheap = a_node("n0", microdollars_per_gpu_hour=1_000_000)
    assert nodes_of(a_problem([cheap, dear], [a_service(2)])) == ["n0", "n0"]
    cheap_too = replace(dear, microdollars_per_gpu_hour=1_000_000)
    assert per_node(a_problem([cheap, cheap_too], [a_service(2)])) == [1, 1]


def test_a_service_without_another_node_at_its_price_keeps_no_other_from_it() -> None:
    """The dear nodes are the only ones with room for the first service."""
    nodes = [
        a_node("n0", gpus=2),
        a_node("n1", microdollars_per_gpu_hour=1_000_000),
        a_node("m0", gpu_type=A100),
        a_node("m1", gpu_type=A100),
    ]
    role = a_mixable_role(counts=(2,), wanted_milli=2000, carried={A100: 1000})
    other = an_inference_job("other", roles=(role,))
    problem = a_problem(nodes, [a_service(2, types=(H100,)), other])
    assert nodes_of(problem) == ["n0", "n0"]
    found = solve_lean(problem, AT_ONCE).placements[JobName("other")]
    assert {name for each in found for name in each.nodes} == {"m0", "m1"}


def test_no_node_is_kept_for_it_that_could_be_given_back() -> None:
    """Unless somebody is on it anyway."""
    nodes = [a_node("n0"), a_node("n1", returnable=True)]
    busy = a_training_job("busy", worker=a_role(gpu_milli=3000), running=gang_on("n0"))
    assert nodes_of(a_problem(nodes, [a_service(2), busy])) == ["n0", "n0"]
    there = a_training_job("there", running=gang_on("n1"))
    assert per_node(a_problem(nodes, [a_service(2), busy, there])) == [1, 1]
    coming = a_training_job("coming", worker=a_role(eligible=0b10))
    assert nodes_of(a_problem(nodes, [a_service(2), busy, coming])) == ["n0", "n0"]


def test_nobody_waits_for_it() -> None:
    large = a_training_job("train", worker=a_role(gpu_milli=8000))
    problem = a_problem(some_nodes(2), [a_service(2), large])
    assert len(solve_lean(problem, AT_ONCE).placements) == 2
    assert per_node(problem) == [2]


def test_no_idle_gpus_lose_their_cpu_for_it() -> None:
    """A replica on the other node would leave seven GPUs there without CPU."""
    nodes = [a_node("n0"), a_node("n1", cpu_millis=16_000)]
    light = a_training_job("light", worker=a_role(cpu_millis=2000), running=gang_on("n0"))
    heavy = a_mixable_role(counts=(2,), wanted_milli=2000, role=a_role(cpu_millis=16_000))
    problem = a_problem(nodes, [an_inference_job(roles=(heavy,)), light])
    assert nodes_of(problem) == ["n0", "n0"]
    ample = [nodes[0], a_node("n1")]
    assert per_node(replace(problem, nodes=tuple(ample))) == [1, 1]


def test_limits_hold_where_a_service_is_spread() -> None:
    domain = DomainName("row")
    nodes = [
        a_node("n0", busy_milliwatts=1000_000),
        a_node("n1", busy_milliwatts=1000_000, power_domains=(domain,)),
    ]
    budget = [a_power_domain("row", budget_watts=500)]
    problem = a_problem(nodes, [a_service(2)], power_domains=budget)
    assert nodes_of(problem) == ["n0", "n0"]
    enough = [a_power_domain("row", budget_watts=1000)]
    assert per_node(a_problem(nodes, [a_service(2)], power_domains=enough)) == [1, 1]
    at_limit = [a_queue(limit={H100: 2000})]
    assert per_node(a_problem(some_nodes(2), [a_service(2)], queues=at_limit)) == [1, 1]


@pytest.mark.parametrize(("percent", "expected"), [(0, [2]), (50, [1, 1])])
def test_shares_of_spot_hold_where_a_service_is_spread(percent: int, expected: list[int]) -> None:
    """The only other node is on spot, and costs the same."""
    nodes = [a_node("n0"), a_node("n1", spot=True)]
    busy = a_training_job("busy", worker=a_role(gpu_milli=3000), running=gang_on("n0"))
    problem = a_problem(nodes, [a_service(2, spot_percent=percent), busy])
    assert per_node(problem) == expected


def test_replicas_on_several_nodes_are_left_as_they_are() -> None:
    nodes = [a_node(f"n{i}", gpus=1, topology=("ab"[i // 4],)) for i in range(8)]
    problem = a_problem(nodes, [a_service(2, pods=2)], levels=("zone",))
    assert sorted(nodes_of(problem)) == ["n0", "n1", "n2", "n3"]


def test_pods_of_a_replica_stay_on_one_node() -> None:
    """Power leaves no room for both on the only large one, and two small ones have one each."""
    row, watts = DomainName("row"), 100_000
    nodes = [
        a_node("n0", gpus=4, busy_milliwatts=watts),
        a_node("n1", gpus=2, busy_milliwatts=watts, power_domains=(row,)),
        a_node("n2", gpus=1, busy_milliwatts=watts),
        a_node("n3", gpus=1, busy_milliwatts=watts),
    ]
    budget = [a_power_domain("row", budget_watts=150)]
    problem = a_problem(nodes, [a_service(2, pods=2)], power_domains=budget)
    assert nodes_of(problem) == ["n0"] * 4


def test_what_a_service_lacks_is_kept_off_what_it_runs() -> None:
    """What must not be disturbed stays, and the rest is a part of the job, to be placed."""
    whole = a_service(2, here=["n0"], pinned=True)
    part = replace(a_service(1), name=JobName("serve (missing replicas)"), part_of=JobName("serve"))
    found = solve_lean(a_problem(some_nodes(2), [whole, part]), AT_ONCE).placements
    assert [each.nodes for each in found[part.name]] == [("n1",)]


def test_roles_are_spread_each_for_itself() -> None:
    roles = tuple(a_mixable_role(name, counts=(1, 2), wanted_milli=2000) for name in ("p", "d"))
    found = solve_lean(a_problem(some_nodes(3), [an_inference_job(roles=roles)]), AT_ONCE)
    by_role: dict[str, set[str]] = {}
    for each in found.placements[JobName("serve")]:
        by_role.setdefault(each.role, set()).update(each.nodes)
    assert {name: len(nodes) for name, nodes in by_role.items()} == {"p": 2, "d": 2}


def test_a_pinned_service_stays_as_it_is() -> None:
    pinned = a_service(2, here=["n0", "n0"], pinned=True)
    assert nodes_of(a_problem(some_nodes(2), [pinned])) == ["n0", "n0"]


def test_no_replica_waits_for_it_until_another_job_has_left_its_node() -> None:
    """The victim leaves the only other node for one that pays."""
    nodes = [a_node("n0", gpus=8), a_node("n1", gpus=4)]
    victim = a_training_job("victim", worker=a_role(gpu_milli=4000), running=gang_on("n1"))
    victim = replace(victim, roles=(replace(victim.roles[0], eligible=0b01),))
    problem = a_problem(nodes, [a_service(2), victim])
    found = solve_lean(problem, AT_ONCE).placements
    assert found[JobName("victim")] == gang_on("n0")
    assert nodes_of(problem) == ["n0", "n0"]


def test_a_bought_node_that_is_left_is_not_kept_for_it() -> None:
    nodes = [a_node("n0"), a_node("n1", returnable=True), a_node("n2", gpus=1)]
    busy = a_training_job("busy", worker=a_role(gpu_milli=3000), running=gang_on("n0"))
    leaves = a_training_job("leaves", worker=a_role(eligible=0b100), running=gang_on("n1"))
    assert nodes_of(a_problem(nodes, [a_service(2), busy, leaves])) == ["n0", "n0"]


def test_what_is_pinned_to_a_node_that_is_gone_is_not_counted() -> None:
    whole = a_service(3, here=["n0", "gone"], pinned=True)
    part = replace(a_service(1), name=JobName("serve (missing)"), part_of=JobName("serve"))
    found = solve_lean(a_problem(some_nodes(2), [whole, part]), AT_ONCE).placements
    assert [each.nodes for each in found[part.name]] == [("n1",)]


def test_a_plan_that_starts_many_spreads_only_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "MOST_MOVES", 1)
    services = [replace(a_service(2), name=JobName(name)) for name in ("a", "b")]
    found = solve_lean(a_problem(some_nodes(2), services), AT_ONCE).placements.values()
    used = [len({name for each in placed for name in each.nodes}) for placed in found]
    assert sorted(used) == [1, 2]
