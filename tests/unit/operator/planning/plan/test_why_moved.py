"""A job that moves is told why: what no longer allows its place, who needs it, or what it gains."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.planning.actions import Migrate
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.why_moved import what_it_gains
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import GpuType
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, pods_of, seen, serving
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_power_domain,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.problems.builders import a_node, a_problem, a_role, gang_on
from support.problems.builders import a_training_job as a_job

HOST = "kubernetes.io/hostname"
ONLY_N_0, ONLY_N_1 = (a_template(nodeSelector={HOST: name}) for name in ("n-0", "n-1"))
SPOT: Manifest = {"capacityType": "Spot"}
CHEAP: Manifest = {"pricePerGPUHour": "1"}
DEAR: Manifest = {"pricePerGPUHour": "40"}
RISKY: Manifest = {"interruptionsPerHour": "0.1"}
RACKS = a_pool("racks", {"rack-of": "n"}, topologyKeys=[{"name": "rack", "label": "rack"}])


def pools(*specs: Manifest) -> list[Manifest]:
    """A pool for each of the nodes `n-0`, `n-1` and so on."""
    return [a_pool(f"p-{i}", {HOST: f"n-{i}"}, **spec) for i, spec in enumerate(specs)]


def nodes(*kinds: str, gpus: int = 2) -> list[Manifest]:
    return [fake_node(f"n-{i}", kind, gpus) for i, kind in enumerate(kinds)]


def in_racks(*racks: str) -> list[Manifest]:
    made = [fake_node(f"n-{i}", H100, 2) for i, _ in enumerate(racks)]
    for node, rack in zip(made, racks, strict=True):
        node["metadata"]["labels"] |= {"rack": rack, "rack-of": "n"}
    return [*made, RACKS]


def why(
    job: Manifest,
    *places: str,
    gpu_type: str = H100,
    beside: Sequence[Manifest],
    status: Manifest | None = None,
    renamed: str = "",
) -> str:
    """Why a job that runs at these places moves, as its event says behind where it goes."""
    placed = at(job, *places, gpu_type=gpu_type, **(status or {}))
    if renamed:
        placed["spec"]["roles"][0]["name"] = renamed
    snapshot = seen(*beside, placed, *pods_of(placed))
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0.5))
    changes = plan_of(snapshot, PlanResult(plan_input, solution)).changes
    (move,) = [each for each in changes if each.job.endswith(f"/{job['metadata']['name']}")]
    assert isinstance(move, Migrate), "it keeps its size"
    said, _, last = move.message.rpartition(f" on {_nodes(move)}")
    assert said.startswith("moved to ")
    return last


def _nodes(move: Migrate) -> str:
    return ", ".join(sorted({name for each in move.assignments for name in each.nodes}))


def a_gang(workers: int = 1, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a job's spec
    return a_training_job("gang", workers=workers, gpus=2, **spec)


@pytest.mark.parametrize("job", [a_gang(), an_inference_job("service")], ids=["gang", "service"])
def test_a_job_that_may_not_be_on_spot_says_which_of_its_nodes_is(job: Manifest) -> None:
    beside = [*nodes(H100, H100), *pools(SPOT, {})]
    assert why(job, "n-0", beside=beside) == ": it may not be on spot, as n-0 is"


def test_a_service_of_which_too_much_is_on_spot_says_so() -> None:
    job = an_inference_job(
        "service", replicas=2, role={"spot": {"allowed": True, "maxSharePercent": 50}}
    )
    beside = [*nodes(H100, H100, gpus=1), fake_node("n-2", H100, 1), *pools(SPOT, SPOT, {})]
    found = why(job, "n-0", "n-1", beside=beside)
    assert found == ": more of it is on spot than it allows"


def test_a_job_whose_gpu_type_was_taken_off_its_list_names_it() -> None:
    job = an_inference_job("service", loads={H100: 1})
    beside = nodes(A100, H100)
    assert why(job, "n-0", gpu_type=A100, beside=beside) == f": it may no longer run on {A100}"


def test_a_job_that_avoids_its_node_for_a_while_names_it() -> None:
    until = (NOW + timedelta(minutes=5)).isoformat()
    avoided = {"avoidedNodes": [{"node": "n-0", "until": until}]}
    text = why(a_gang(), "n-0", beside=nodes(H100, H100), status=avoided)
    assert text == ": it may not be on n-0 now"


def test_a_service_whose_role_has_another_name_now_says_so() -> None:
    service = an_inference_job("service")
    assert why(service, "n-0", beside=nodes(H100), renamed="new") == ": its roles have changed"


def test_replicas_that_go_from_one_role_to_another_gain_nothing_by_it() -> None:
    """The place is cheaper, but that is not why."""
    service = an_inference_job("service", replicas=0)
    other = {**service["spec"]["roles"][0], "name": "other"}
    service["spec"]["roles"].append({**other, "template": ONLY_N_1})
    service = serving(service, server=0, other=1)
    beside = [*nodes(H100, H100), *pools(DEAR, CHEAP)]
    loads = service.pop("status")
    assert why(service, "n-0", beside=beside, status=loads) == " for a load of server 0, other 1"


def test_a_gang_that_must_be_in_one_domain_names_its_level() -> None:
    job = a_gang(2, topology={"required": "rack"})
    assert why(job, "n-0", "n-1", beside=in_racks("a", "b", "b")) == ": it must be in one rack"


def test_a_gang_that_is_nearer_together_elsewhere_is_faster() -> None:
    job = a_gang(2, topology={"preferred": "rack", "communicationPercent": 20})
    assert why(job, "n-0", "n-1", beside=in_racks("a", "b", "b")) == ": 11 % faster"


def test_a_gang_whose_network_lets_it_do_nothing_is_compared_by_the_rest_alone() -> None:
    nodes = [a_node(f"n{i}", topology=("ab"[i // 2],)) for i in range(4)]
    apart, together = gang_on("n0", "n2"), gang_on("n2", "n3")
    job = replace(
        a_job(worker=a_role(counts=(2,)), running=apart, preferred_level=0),
        crossing_percent={GpuType(H100): 100},
    )
    problem = a_problem(nodes, [job], levels=("rack",))
    assert what_it_gains(problem, job, together, speed=1.0) == ""


@pytest.mark.parametrize(
    ("rate", "said"), [(10, "10 times as fast"), ("1.5", "50 % faster")], ids=["much", "some"]
)
def test_a_gang_says_how_much_faster_other_gpus_are_for_it(rate: int | str, said: str) -> None:
    quick = {"saveSeconds": 0, "restoreSeconds": 0}
    job = a_gang(rates={H100: rate, A100: 1}, checkpoint=quick)
    assert why(job, "n-0", gpu_type=A100, beside=nodes(A100, H100)) == f": {said}"


def test_what_a_move_saves_and_what_it_risks_for_that_are_both_named() -> None:
    job = a_gang(spot={"allowed": True})
    safe = why(job, "n-0", beside=[*nodes(H100, H100), *pools(DEAR, CHEAP)])
    assert safe == ": 78.00 an hour cheaper"
    risky = why(job, "n-0", beside=[*nodes(H100, H100), *pools(DEAR, SPOT | CHEAP | RISKY)])
    assert risky == ": 78.00 an hour cheaper, though more likely to be interrupted"
    dear = why(
        a_gang(rates={H100: 20, A100: 1}),
        "n-0",
        gpu_type=A100,
        beside=[*nodes(A100, H100), *pools(CHEAP, {"pricePerGPUHour": "1.50"})],
    )
    assert dear == ": 20 times as fast, though 1.00 an hour dearer"


def test_small_prices_are_not_rounded_to_nothing() -> None:
    prices = pools({"pricePerGPUHour": "0.004"}, {"pricePerGPUHour": "0.001"})
    quick = {"saveSeconds": 0, "restoreSeconds": 0}
    gang = a_training_job("gang", checkpoint=quick)
    text = why(gang, "n-0", beside=[*nodes(H100, H100), *prices, a_policy()])
    assert text == ": 0.003 an hour cheaper"


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ("3.90", ", makes room for TrainingJob/team/large (priority 0)"),
        ("1", ": 6.00 an hour cheaper"),
    ],
    ids=["not worth it", "worth it"],
)
def test_a_job_that_makes_room_names_for_whom_unless_it_gains_enough(price: str, said: str) -> None:
    """Enough is what would have moved it anyway."""
    large = a_training_job("large", gpus=4)
    beside = [fake_node("n-0", H100, 4), fake_node("n-1", H100, 2), large]
    prices = pools({"pricePerGPUHour": "4"}, {"pricePerGPUHour": price})
    assert why(a_gang(), "n-0", beside=[*beside, *prices]) == said


def test_only_those_are_named_for_whom_it_leaves_a_node() -> None:
    """A replica stays beside a job that is new as well, and one that it leaves stays there."""
    large = a_training_job("large", gpus=4)
    new = a_training_job("new", template=ONLY_N_1)
    stays = at(a_training_job("stays", template=ONLY_N_0), "n-0")
    new_there = [large, new, stays, *pods_of(stays)]
    beside = [fake_node("n-0", H100, 5), fake_node("n-1", H100, 2), fake_node("n-2", H100, 1)]
    service = an_inference_job("service", replicas=2)
    text = why(service, "n-0", "n-1", beside=[*beside, *new_there])
    assert text == ", makes room for TrainingJob/team/large (priority 0)"


def test_a_job_that_leaves_spot_for_its_deadline_says_how_much_time_is_left() -> None:
    job = a_gang(
        spot={"allowed": True},
        work={"amount": 3000, "unit": "steps", "deadline": (NOW + timedelta(hours=1)).isoformat()},
    )
    job = at(job, "n-0")
    text = why(job, "n-0", beside=[*nodes(H100, H100), *pools(SPOT | RISKY, {})])
    assert text.startswith(", off spot: ")


def test_a_job_that_gives_way_to_a_power_domain_names_it() -> None:
    power = a_power_domain("row", {HOST: "n-0"}, budget_watts=100)
    watts = {"power": {"idleWatts": 10, "typicalWatts": 500, "limitWatts": 700}}
    beside = [*nodes(H100, H100), *pools(watts, watts), power, a_policy()]
    text = why(a_gang(), "n-0", beside=beside)
    assert text == ", power domain row has too little power left"
