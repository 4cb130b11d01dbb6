"""What plans do for a service whose requests go to replicas by their size."""

from typing import Any

import pytest

from plimsoll.acting.pods.gpu_request import assignments
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import BucketLoad, InferenceJob
from plimsoll.planning.actions import Admit, Plan, Resize
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.serving.grouping import grouped
from plimsoll.planning.serving.replicas import services, wanted_replicas
from plimsoll.planning.serving.size_groups import placed_in_groups
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_pool, an_inference_job

CARRIES = {H100: {"short": 10, "long": 10}, L4: {"short": 10, "long": 1}}
BY_TYPE = {"short": L4, "long": H100}


def a_service(
    *,
    most: int = 20,
    least: int = 1,
    loads: Manifest | None = None,
    **role: Any,  # noqa: ANN401 - fields of a role
) -> Manifest:
    """Replicas of which an L4 carries short requests as well as an H100 does."""
    profiles = [
        {"type": kind, "bucket": bucket, "load": load}
        for kind, carries in CARRIES.items()
        for bucket, load in carries.items()
    ]
    bounds = {"min": least, "max": most}
    by_size = {"replicas": bounds, "profiles": profiles, "requests": "BySize", **role}
    job = an_inference_job("s", role=by_size)
    return job if loads is None else with_loads(job, loads)


def with_loads(job: Manifest, loads: Manifest, groups: Manifest | None = None) -> Manifest:
    """The job with a status in which so much is wanted of each bucket."""
    wanted = [
        {"bucket": bucket, "wanted": str(load), "since": NOW.isoformat()}
        | ({"sizeGroup": groups[bucket]} if groups else {})
        for bucket, load in loads.items()
    ]
    return {
        **job,
        "status": {**job.get("status", {}), "roles": [{"name": "server", "loads": wanted}]},
    }


def in_groups(job: Manifest, loads: Manifest) -> Manifest:
    return with_loads(job, loads, BY_TYPE)


def pools(h100: float = 4, l4: float = 1) -> list[Manifest]:
    label = "nvidia.com/gpu.product"
    prices = {"h": (H100, h100), "l": (L4, l4)}
    return [
        a_pool(name, {label: kind}, gpuType=kind, pricePerGPUHour=str(price))
        for name, (kind, price) in prices.items()
    ]


def parsed(manifest: Manifest) -> InferenceJob:
    manifest["metadata"] |= {"uid": "u", "namespace": "team"}
    return InferenceJob.model_validate(manifest)


def groups(manifest: Manifest, prices: list[Manifest] | None = None) -> dict[str, str | None]:
    """The group of each bucket of a job whose load was just measured."""
    job = parsed(manifest)
    known = [GPUPool.model_validate(pool) for pool in (pools() if prices is None else prices)]
    loads: tuple[BucketLoad, ...] = job.status.roles[0].loads
    return {each.bucket: each.size_group for each in grouped(job, job.spec.roles[0], loads, known)}


def planned(*manifests: Manifest) -> Plan:
    plan_input = plan_input_of(snapshot := seen(*manifests), ProblemBuilder())
    return plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem, Effort())))


def places(plan: Plan) -> list[tuple[str, str]]:
    [change] = plan.changes
    assert isinstance(change, Admit | Resize)
    return sorted((assignment.role, assignment.gpu_type) for assignment in change.assignments)


def test_sizes_part_where_each_has_a_type_that_is_cheaper_for_it() -> None:
    assert groups(a_service(loads={"short": 40, "long": 40})) == BY_TYPE


def test_sizes_stay_together_where_requests_go_anywhere() -> None:
    job = a_service(requests="Anywhere", loads={"short": 40, "long": 40})
    assert set(groups(job).values()) == {None}


def test_sizes_stay_together_where_parting_saves_little() -> None:
    few = a_service(loads={"short": 2, "long": 5})
    assert set(groups(few, pools(h100=1.05)).values()) == {None}
    assert groups(few, pools(h100=1.05)) == groups(few, pools(l4=3.9))


def test_sizes_stay_together_while_no_prices_are_known() -> None:
    assert set(groups(a_service(loads={"short": 40, "long": 40}), []).values()) == {None}


def test_sizes_part_only_within_the_most_replicas_allowed() -> None:
    job = a_service(most=7, loads={"short": 40, "long": 40})
    assert set(groups(job).values()) == {None}
    assert groups(a_service(most=8, loads={"short": 40, "long": 40})) == BY_TYPE


def test_groups_stay_unless_others_save_a_tenth() -> None:
    job = in_groups(a_service(), {"short": 40, "long": 40})
    assert groups(job, pools(h100=1.05)) == BY_TYPE, "alone an H100 would cost as much"
    assert set(groups(job, pools(h100=0.8)).values()) == {None}


def test_a_pinned_count_has_no_groups() -> None:
    job = in_groups(a_service(), {"short": 40, "long": 40})
    job["spec"]["replicas"] = 5
    assert set(groups(job).values()) == {None}
    pinned = parsed(job)
    assert list(services(pinned, pinned.spec.roles[0])) == [""]


def test_a_bucket_that_no_label_can_name_keeps_all_together() -> None:
    assert set(groups(a_service(loads={"short": 40, "up to 4k": 4})).values()) == {None}


def test_a_plan_puts_each_group_where_it_is_cheapest() -> None:
    nodes = [fake_node("h", H100, 8), fake_node("l", L4, 8)]
    job = in_groups(a_service(), {"short": 40, "long": 20})
    expected = [(f"server:{H100}", H100)] * 2 + [(f"server:{L4}", L4)] * 4
    assert places(planned(*nodes, *pools(), job)) == expected


def test_a_group_gets_another_type_where_its_own_is_short() -> None:
    nodes = [fake_node("h", H100, 8), fake_node("l", L4, 1)]
    job = in_groups(a_service(), {"short": 40, "long": 20})
    kinds = places(planned(*nodes, *pools(), job))
    assert kinds.count((f"server:{L4}", L4)) == 1
    assert kinds.count((f"server:{L4}", H100)) == 3


def test_one_replica_serves_rather_than_none_where_there_is_no_more_room() -> None:
    job = in_groups(a_service(), {"short": 40, "long": 20})
    assert len(places(planned(fake_node("l", L4, 1), *pools(), job))) == 1


def test_the_most_allowed_are_shared_out_to_the_groups() -> None:
    job = parsed(in_groups(a_service(most=6), {"short": 80, "long": 40}))
    most = {group: each.most for group, each in services(job, job.spec.roles[0]).items()}
    assert sum(most.values()) == 6
    assert min(most.values()) >= 1


def test_no_group_takes_for_a_worse_type_what_another_needs_of_its_own() -> None:
    job = parsed(in_groups(a_service(most=8), {"short": 40, "long": 20}))
    most = {group: each.most for group, each in services(job, job.spec.roles[0]).items()}
    assert most == {L4: 4, H100: 4}


def test_the_fewest_allowed_are_shared_out_to_the_groups() -> None:
    job = parsed(in_groups(a_service(least=6), {"short": 10, "long": 10}))
    assert wanted_replicas(job, job.spec.roles[0], ()) == 6


@pytest.mark.parametrize(("kind", "group"), [(L4, L4), (H100, H100), (A100, H100)])
def test_replicas_that_are_there_join_the_group_of_their_type(kind: str, group: str) -> None:
    job = parsed(in_groups(at(a_service(), "n", gpu_type=kind), {"short": 40, "long": 20}))
    assert job.status.placement is not None
    [place] = placed_in_groups(job, job.status.placement.assignments)
    assert place.size_group == group


def test_the_status_says_which_group_a_replica_is_for() -> None:
    job = in_groups(a_service(), {"short": 10, "long": 10})
    snapshot = seen(fake_node("h", H100, 8), fake_node("l", L4, 8), *pools(), job)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    [change] = plan_of(
        snapshot, PlanResult(plan_input, solve(plan_input.problem, Effort()))
    ).changes
    assert isinstance(change, Admit)
    loads = assignments(snapshot, change.assignments, 1)
    assert {(each.role, each.size_group) for each in loads} == {("server", L4), ("server", H100)}


def test_a_service_in_groups_that_has_what_it_needs_is_let_be() -> None:
    nodes = [fake_node("h", H100, 8), fake_node("l", L4, 8)]
    job = in_groups(at(a_service(), "h", "l"), {"short": 10, "long": 10})
    first, second = job["status"]["placement"]["assignments"]
    first |= {"sizeGroup": H100}
    second |= {"sizeGroup": L4, "acceleratorType": L4}
    assert planned(*nodes, *pools(), job).changes == ()
