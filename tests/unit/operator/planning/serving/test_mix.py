"""Which GPU types services get where supply is short, on the way from a snapshot to a plan."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import require_sound
from plimsoll_placement.solve import solve_lean
from support.clusters.seen import at, seen, serving
from support.objects.job_manifests import (
    a_pool,
    a_priority_class,
    a_training_job,
    an_inference_job,
)

CARRIES = {H100: 8, A100: 4, L4: 1}
DOLLARS = {H100: 4, A100: 3, L4: 1}
"""A unit of load costs 0.50 on an H100, 0.75 on an A100 and 1 on an L4."""
HIGH = a_priority_class("high", 100)
POOLS = [
    a_pool(f"pool-{number}", {"nvidia.com/gpu.product": kind}, pricePerGPUHour=price)
    for number, (kind, price) in enumerate(DOLLARS.items())
]


def nodes(**gpus: int) -> list[Manifest]:
    kinds = {"h100": H100, "a100": A100, "l4": L4}
    return [fake_node(name, kinds[name], count) for name, count in gpus.items()]


def a_service(name: str, load: float, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    role = {"replicas": {"min": 1, "max": 40}}
    return serving(an_inference_job(name, loads=CARRIES, role=role, **spec), server=load)


def planned(*manifests: Manifest) -> Mapping[str, Counter[str]]:
    """The replicas of each job by GPU type."""
    problem = plan_input_of(seen(*POOLS, HIGH, *manifests), ProblemBuilder()).problem
    placements = solve_lean(problem).placements
    require_sound(problem, placements)
    return {
        name.rsplit("/")[-1]: Counter(str(each.gpu_type) for each in held)
        for name, held in placements.items()
    }


def test_with_plenty_a_service_is_on_the_cheapest_mix() -> None:
    # Two H100 carry 16 for 8 dollars; a third for the last unit costs more than an L4.
    found = planned(*nodes(h100=8, a100=8, l4=8), a_service("one", 17))
    assert found == {"one": {H100: 2, L4: 1}}


def test_what_the_cheapest_type_lacks_spills_over_to_the_next_best() -> None:
    found = planned(*nodes(h100=1, a100=8, l4=16), a_service("one", 24))
    assert found == {"one": {H100: 1, A100: 4}}


def test_a_service_of_higher_priority_gets_scarce_supply_first() -> None:
    low, high = a_service("a-low", 16), a_service("high", 16, priorityClassName="high")
    roomy = planned(*nodes(h100=4), low, high)
    assert roomy == {"a-low": {H100: 2}, "high": {H100: 2}}
    assert planned(*nodes(h100=2), low, high) == {"high": {H100: 2}}
    assert planned(*nodes(h100=3), low, high) == {"high": {H100: 2}, "a-low": {H100: 1}}


def test_services_share_what_is_scarce_as_is_cheapest_for_both_together() -> None:
    # Each would take the H100; who cannot do with A100 gets it, whatever the order of names.
    picky = an_inference_job(
        "z-picky", loads={H100: 8, A100: 1}, role={"replicas": {"min": 1, "max": 8}}
    )
    found = planned(*nodes(h100=1, a100=8), a_service("one", 8), serving(picky, server=8))
    assert found == {"one": {A100: 2}, "z-picky": {H100: 1}}


def test_training_gives_way_where_a_service_costs_least() -> None:
    runs = [
        at(a_training_job(f"train-{name}", rates={kind: 1}), name, gpu_type=kind)
        for name, kind in (("h100", H100), ("l4", L4), ("a100", A100))
    ]
    service = a_service("one", 8, priorityClassName="high")
    found = planned(*nodes(h100=1, a100=1, l4=1), *runs, service)
    assert found == {"one": {H100: 1}, "train-a100": {A100: 1}, "train-l4": {L4: 1}}


def test_types_that_carry_a_small_part_of_the_load_carry_all_of_it_together() -> None:
    strong = an_inference_job(
        "one", loads={H100: 640, L4: 10}, role={"replicas": {"min": 1, "max": 500}}
    )
    found = planned(
        fake_node("h100", H100, 1), fake_node("l4", L4, 40), serving(strong, server=1000)
    )
    assert found == {"one": {H100: 1, L4: 36}}
