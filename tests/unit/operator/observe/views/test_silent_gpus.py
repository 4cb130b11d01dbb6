"""What runs on a node goes on while its device plugin restarts or its labels are written anew."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.observe.views.silent_gpus import NAMED_WITHIN, PLUGIN_GRACE
from plimsoll.planning.plan.decisions import Plan, PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, objects_of, pods_of, seen
from support.objects.job_manifests import a_pool, a_training_job, an_inference_job

GPU = "nvidia.com/gpu"
UNNAMED = "unknown-nvidia-gpu"
SECOND = timedelta(seconds=1)


def placed(job: Manifest, *, units: int, resource: str = GPU) -> list[Manifest]:
    """A placed job, and its pods with so many units of a resource each."""
    pods = pods_of(job)
    for pod in pods:
        pod["spec"]["containers"][0]["resources"] = {"limits": {resource: str(units)}}
    return [job, *pods]


def without_plugin(node: Manifest) -> Manifest:
    """As the kubelet reports it while the device plugin is away."""
    gone = {**node["status"]["allocatable"], GPU: "0"}
    return {**node, "status": {**node["status"], "allocatable": gone}}


def without_labels(node: Manifest) -> Manifest:
    """As it is without what GPU Feature Discovery says."""
    labels = node["metadata"]["labels"]
    kept = {name: value for name, value in labels.items() if not name.startswith("nvidia.com/")}
    return {**node, "metadata": {**node["metadata"], "labels": kept}}


def offers(snapshot: Snapshot) -> list[tuple[str, int, int]]:
    (node,) = snapshot.nodes
    return [(each.gpu_type, each.count, each.share_milli) for each in node.offers]


def plan(snapshot: Snapshot) -> Plan:
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    result = PlanResult(plan_input, solve(plan_input.problem, Effort(deterministic_seconds=0)))
    return plan_of(snapshot, result)


def gang(**fields: Any) -> Manifest:  # noqa: ANN401 - of a job
    return at(a_training_job("runs", gpus=4, **fields), "node")


def service() -> Manifest:
    return at(an_inference_job("serves", replicas=2), "node", "node")


@pytest.mark.parametrize("change", [without_plugin, without_labels])
@pytest.mark.parametrize("units", [1, 4])
def test_what_runs_there_goes_on(change: Any, units: int) -> None:  # noqa: ANN401 - of a node
    job = gang() if units == 4 else service()
    snapshot = seen(change(fake_node("node")), *placed(job, units=units))
    assert plan(snapshot).changes == ()


def test_without_a_plugin_nothing_more_is_placed_there() -> None:
    snapshot = seen(without_plugin(fake_node("node")), *placed(gang(), units=4))
    assert offers(snapshot) == [(H100, 4, 1000)]
    snapshot = seen(
        without_plugin(fake_node("node")), *placed(gang(), units=4), a_training_job("waits")
    )
    assert [hold.job.rpartition("/")[2] for hold in plan(snapshot).holds] == ["waits"]


def test_without_labels_the_rest_of_the_node_is_of_the_type_of_what_runs() -> None:
    snapshot = seen(
        without_labels(fake_node("node")), *placed(gang(), units=4), a_training_job("waits")
    )
    assert offers(snapshot) == [(H100, 8, 1000)]
    [change] = plan(snapshot).changes
    assert change.job.endswith("/waits")


def test_a_share_of_a_gpu_is_what_its_pod_was_given() -> None:
    job = at(a_training_job("runs", gpus="0.25"), "node")
    node = without_labels(fake_node("node", gpus=2, replicas=4))
    assert offers(seen(node)) == [(UNNAMED, 8, 1000)]
    assert offers(seen(node, *placed(job, units=1))) == [(H100, 2, 250)]


def test_partitions_keep_their_name() -> None:
    resource, kind = "nvidia.com/mig-1g.10gb", f"{A100}-MIG-1g.10gb"
    node = without_labels(fake_node("node", gpus=0, resources={resource: "7"}))
    job = at(a_training_job("runs", rates={kind: 1}), "node", gpu_type=kind)
    snapshot = seen(node, *placed(job, units=1, resource=resource))
    assert offers(snapshot) == [(kind, 7, 1000)]
    assert plan(snapshot).changes == ()


def test_gpus_that_stay_away_are_lost() -> None:
    observer = Observer()
    node, job = fake_node("node"), placed(gang(), units=4)
    here, away = objects_of(node, *job), objects_of(without_plugin(node), *job)

    def found(*, after: timedelta, is_away: bool = True) -> list[tuple[str, int, int]]:
        return offers(observer.snapshot(away if is_away else here, NOW + after))

    held, lost, all_of_them = [(H100, 4, 1000)], list[tuple[str, int, int]](), [(H100, 8, 1000)]
    assert found(after=timedelta()) == held
    assert found(after=PLUGIN_GRACE) == held
    assert found(after=PLUGIN_GRACE + SECOND) == lost
    assert found(after=2 * PLUGIN_GRACE, is_away=False) == all_of_them
    assert found(after=3 * PLUGIN_GRACE) == held, "its time begins anew"


def test_a_node_with_fewer_gpus_than_before_is_believed() -> None:
    fewer = {**fake_node("node")["status"]["allocatable"], GPU: "3"}
    node = {**fake_node("node"), "status": {"capacity": fewer, "allocatable": fewer}}
    assert offers(seen(node, *placed(gang(), units=4))) == [(H100, 3, 1000)]


def test_another_name_is_believed() -> None:
    node = fake_node("node", A100)
    assert offers(seen(node, *placed(gang(), units=4))) == [(A100, 8, 1000)]


def test_what_has_ended_holds_nothing() -> None:
    job, *pods = placed(gang(), units=4)
    for pod in pods:
        pod["status"] = {"phase": "Failed"}
    assert offers(seen(without_plugin(fake_node("node")), job, *pods)) == []


def test_gpus_of_a_new_node_wait_for_their_name() -> None:
    observer, named, new = Observer(), fake_node("node"), without_labels(fake_node("node"))
    observer.snapshot(objects_of(), NOW)
    nameless = objects_of(new)
    for after, found in (
        (timedelta(), list[tuple[str, int, int]]()),
        (NAMED_WITHIN, []),
        (NAMED_WITHIN + SECOND, [(UNNAMED, 8, 1000)]),
    ):
        assert offers(observer.snapshot(nameless, NOW + after)) == found
    assert offers(observer.snapshot(objects_of(named), NOW)) == [(H100, 8, 1000)]


def test_gpus_that_had_no_name_before_are_not_waited_for() -> None:
    observer, nameless = Observer(), objects_of(without_labels(fake_node("node")))
    for after in (timedelta(), SECOND):
        assert offers(observer.snapshot(nameless, NOW + after)) == [(UNNAMED, 8, 1000)]


def test_what_runs_on_gpus_without_a_name_goes_on_as_well() -> None:
    observer, node = Observer(), without_labels(fake_node("node"))
    job = placed(at(a_training_job("runs", gpus=4), "node", gpu_type=UNNAMED), units=4)
    here, away = objects_of(node, *job), objects_of(without_plugin(node), *job)
    assert offers(observer.snapshot(here, NOW)) == [(UNNAMED, 8, 1000)]
    assert offers(observer.snapshot(away, NOW)) == [(UNNAMED, 4, 1000)]
    assert offers(observer.snapshot(here, NOW)) == [(UNNAMED, 8, 1000)], "and wait for no name"


def test_gpus_that_their_pool_names_are_not_waited_for() -> None:
    observer, pool = Observer(), a_pool("racks", {"type": "kwok"}, gpuType=H100)
    observer.snapshot(objects_of(pool), NOW)
    snapshot = observer.snapshot(objects_of(without_labels(fake_node("node")), pool), NOW)
    assert offers(snapshot) == [(UNNAMED, 8, 1000)], "which the pool calls by its own name"
