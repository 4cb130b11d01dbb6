"""Roles of a service are put near each other where its nodes cost the same, and share shortage."""

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import Job, Node
from plimsoll_placement.solve import solve
from support.problems.builders import H100, L4, a_mixable_role, a_node, a_problem, an_inference_job

RACKS = ("rack",)


def a_rack(name: str) -> list[Node]:
    nodes = (a_node(f"{name}-{index}", gpus=2) for index in range(3))
    return [replace(node, topology=(name,)) for node in nodes]


def two_roles(each: int, **fields: Any) -> Job:  # noqa: ANN401 - fields of a job
    roles = tuple(
        a_mixable_role(name, counts=range(1, each + 1), wanted_milli=1000 * each)
        for name in ("prefill", "decode")
    )
    return replace(an_inference_job(roles=roles), **fields)


@pytest.mark.parametrize("effort", [Effort(0), Effort(1)])
def test_all_roles_are_in_one_domain_that_the_service_prefers(effort: Effort) -> None:
    nodes = [*a_rack("a"), *a_rack("b")]
    nodes = [nodes[i] for i in (0, 3, 1, 4, 2, 5)]
    problem = a_problem(nodes, [two_roles(3, preferred_level=0)], levels=RACKS)
    [assignments] = solve(problem, effort).placements.values()
    assert len(assignments) == 6
    assert len({name.split("-")[0] for assignment in assignments for name in assignment.nodes}) == 1


def test_what_grows_goes_where_the_rest_is() -> None:
    first = two_roles(1, preferred_level=0)
    nodes = [*a_rack("a"), *a_rack("b")]
    [assignments] = greedy_placements(a_problem(nodes, [first], levels=RACKS)).values()
    there = {name.split("-")[0] for assignment in assignments for name in assignment.nodes}
    grown = two_roles(2, preferred_level=0, running=assignments)
    [more] = greedy_placements(a_problem(nodes, [grown], levels=RACKS)).values()
    assert {name.split("-")[0] for assignment in more for name in assignment.nodes} == there


def test_a_preferred_domain_is_worth_no_money_and_no_wait() -> None:
    dear = [replace(node, microdollars_per_gpu_hour=9_000_000) for node in a_rack("a")[:1]]
    nodes = [*dear, *a_rack("b")]
    job = two_roles(4, preferred_level=0)
    [assignments] = greedy_placements(a_problem(nodes, [job], levels=RACKS)).values()
    assert len(assignments) == 8
    first = [assignment for assignment in assignments if assignment.replica < 3]
    assert {name.split("-")[0] for assignment in first for name in assignment.nodes} == {"b"}


def test_where_there_is_too_little_no_role_starves_for_another() -> None:
    node = a_node("n", gpus=6)
    [assignments] = greedy_placements(a_problem([node], [two_roles(5)])).values()
    assert sorted(assignment.role for assignment in assignments) == ["decode"] * 3 + ["prefill"] * 3


def test_a_replica_more_is_of_the_type_that_is_cheapest_for_what_it_adds() -> None:
    dear = replace(a_node("h", gpus=4), microdollars_per_gpu_hour=4_000_000)
    cheap = replace(a_node("l", gpus=4, gpu_type=L4), microdollars_per_gpu_hour=1_500_000)
    carried = {H100: 1000, L4: 300}
    role = a_mixable_role(counts=range(1, 9), wanted_milli=1200, carried=carried)
    [assignments] = greedy_placements(
        a_problem([dear, cheap], [an_inference_job(roles=(role,))])
    ).values()
    assert sorted(assignment.gpu_type for assignment in assignments) == sorted([H100, L4])
