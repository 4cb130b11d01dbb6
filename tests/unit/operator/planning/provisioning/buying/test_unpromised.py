"""A job that waits for a device which no pool promises is told where to promise it."""

from collections.abc import Container

import pytest

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.unpromised import with_unpromised
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import at, pods_of, seen
from support.objects.bought_nodes import a_growing_pool
from support.objects.job_manifests import a_template, a_training_job, an_inference_job

EFA = "vpc.amazonaws.com/efa"
HCA = "rdma/hca"
THERE = fake_node("there", H100, gpus=8)
SERVING = an_inference_job("job", template=a_template({EFA: "4"}))


def promising(name: str, *devices: str, gpu_type: str = H100, sells: bool = True) -> Manifest:
    """A pool whose nodes to come have eight of each of these devices."""
    resources = dict.fromkeys(devices, 8)
    return a_growing_pool(
        name, gpu_type=gpu_type, sells=sells, provisioning={"resources": resources}
    )


def asking(*devices: str) -> Manifest:
    return a_training_job("job", template=a_template(dict.fromkeys(devices, "4")))


def said(*manifests: Manifest, served: Container[JobName] = ()) -> str:
    """What the job that waits is told behind what it lacks; "" if nothing."""
    snapshot = seen(THERE, *manifests)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0))
    holds = plan_of(snapshot, PlanResult(plan_input, solution)).holds
    [(before, after)] = [
        (hold.message, told.message)
        for hold, told in zip(holds, with_unpromised(holds, snapshot, served), strict=True)
        if hold.job.endswith("/job")
    ]
    assert after.startswith(before)
    return after.removeprefix(before)


def missing(**pools: str) -> str:
    """What is said of pools that do not promise these devices."""
    listed = ", ".join(f"{pool} ({devices})" for pool, devices in pools.items())
    return f"; provisioning.resources does not promise what it requests: GPUPool {listed}"


@pytest.mark.parametrize("job", [asking(EFA), SERVING], ids=["gang", "service"])
def test_the_pools_that_could_sell_are_named_and_the_device(job: Manifest) -> None:
    assert said(job, promising("p5")) == missing(p5=EFA)
    assert said(job, promising("p5"), promising("p6")) == missing(p5=EFA, p6=EFA)


def test_what_one_of_them_promises_is_not_missing() -> None:
    assert said(asking(EFA), promising("p5", EFA)) == ""
    assert said(asking(EFA), promising("p5"), promising("p6", EFA)) == ""
    assert said(asking(EFA, HCA), promising("p5", HCA)) == missing(p5=EFA)


def test_of_each_pool_only_what_it_lacks_is_named() -> None:
    text = said(asking(EFA, HCA), promising("p5", HCA), promising("p6", EFA))
    assert text == missing(p5=EFA, p6=HCA)


def test_nothing_is_said_of_pods_without_gpus_nor_to_who_gets_nodes_anyway() -> None:
    loader = {"name": "loader", "replicas": {"min": 1}, "template": a_template({HCA: "1"})}
    gang = a_training_job("job", gpus=16, template=a_template({EFA: "4"}), roles=[loader])
    assert said(gang, promising("p5", EFA)) == ""
    assert said(asking(EFA), promising("p5"), served={JobName("TrainingJob/team/job")}) == ""


def test_pools_that_sell_nothing_or_other_gpus_do_not_count() -> None:
    assert said(asking(EFA), promising("p5", sells=False)) == ""
    assert said(asking(EFA), promising("l4", gpu_type=L4)) == ""
    assert said(asking(EFA), promising("p5"), promising("l4", EFA, gpu_type=L4)) == missing(p5=EFA)


def test_who_asks_for_no_device_is_not_told_of_any() -> None:
    large = a_training_job("job", workers=2, gpus=8)
    assert said(large, promising("p5")) == ""
    storage = a_training_job("job", template=a_template({"ephemeral-storage": "9Ti"}))
    assert said(storage, promising("p5")) == ""


def test_devices_of_nodes_that_are_all_in_use_are_missing_as_well() -> None:
    with_efa = fake_node("efa", H100, gpus=1, resources={EFA: "8"})
    other = at(a_training_job("other", template=a_template({EFA: "1"})), "efa")
    busy = (with_efa, other, *pods_of(other))
    assert said(asking(EFA), *busy, promising("p5")) == missing(p5=EFA)
