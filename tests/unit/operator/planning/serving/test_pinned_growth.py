from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from plimsoll.observe.snapshot import JobName as ServiceName
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.serving.pinned_growth import missing_part, missing_parts
from plimsoll_placement.model import Assignment, Job, JobName
from support.problems.builders import (
    H100,
    a_mixable_role,
    a_problem,
    a_training_job,
    an_inference_job,
    on,
    some_nodes,
)


def replicas(*nodes: str, role: str = "server", first: int = 0) -> tuple[Assignment, ...]:
    return tuple(on(node, role=role, replica=first + i) for i, node in enumerate(nodes))


def a_service(wanted: int, *nodes: str, **fields: Any) -> Job:  # noqa: ANN401 - fields of a job
    counts = tuple(range(min(1, wanted), wanted + 1))
    role = a_mixable_role(counts=counts, wanted_milli=1000 * wanted)
    return an_inference_job(roles=(role,), running=replicas(*nodes), pinned=True, **fields)


def test_what_may_be_disturbed_is_asked_about_as_a_whole() -> None:
    service = a_service(3, "a")
    free = an_inference_job(roles=service.roles, running=service.running)
    gang = a_training_job(running=replicas("a", role="worker"), pinned=True)
    assert missing_part(free) is None
    assert missing_part(gang) is None


def test_a_service_that_has_what_it_wants_is_kept() -> None:
    service = a_service(2, "a", "b")
    assert missing_part(service) is None


def test_a_service_that_wants_more_is_kept_and_asks_for_the_rest_beside() -> None:
    service = a_service(3, "a")
    missing = missing_part(service)
    assert missing is not None
    assert (missing.pinned, missing.running, missing.queue) == (False, (), service.queue)
    assert (missing.roles[0].counts, missing.roles[0].wanted_milli) == ((0, 1, 2), 2000)
    assert missing.name != service.name
    assert service.whole_name == missing.whole_name == service.name


def test_what_is_missing_is_solved_for_beside_the_service() -> None:
    jobs = a_service(3, "a"), a_service(2, "a", "b", name=JobName("zoo"))
    problem = a_problem(some_nodes(1), jobs)
    service, other = problem.jobs
    asked = missing_parts(problem).apply(problem)
    assert asked.jobs == (service, missing_part(service), other)
    bound = missing_parts(problem, but={ServiceName(service.name)})
    assert bound.apply(problem) == problem


def test_each_role_has_its_own_count() -> None:
    roles = tuple(
        a_mixable_role(name, counts=(1, 2), wanted_milli=2000) for name in ("prefill", "decode")
    )
    running = (*replicas("a", "b", role="prefill"), *replicas("d", role="decode"))
    missing = missing_part(an_inference_job(roles=roles, running=running, pinned=True))
    assert missing is not None
    assert [role.counts for role in missing.roles] == [(0,), (0, 1)]


@pytest.mark.parametrize(("held", "numbers"), [((0, 1), [2, 3]), ((1, 3), [0, 2]), ((), [0, 1])])
def test_missing_replicas_get_the_free_numbers(held: tuple[int, ...], numbers: list[int]) -> None:
    service = a_service(len(held) + 2)
    part = replace(service, name=JobName("another"), part_of=service.name)

    def assignments() -> Iterator[Assignment]:
        yield from (on("a", role="server", replica=number) for number in held)

    placements = {
        service.name: tuple(assignments()),
        part.name: replicas("b", "c"),
    }
    whole = Adjustment(parts=(part,)).restore_placements(placements)
    assert whole.keys() == {service.name}
    found = whole[service.name]
    assert [(assignment.replica, assignment.nodes) for assignment in found[len(held) :]] == [
        (number, (node,)) for number, node in zip(numbers, "bc", strict=True)
    ]
    assert {assignment.gpu_type for assignment in found} == {H100}
