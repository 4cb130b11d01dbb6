"""Jobs run on where a node has less room by now than their pods hold, as Kubernetes lets them."""

import copy
from collections.abc import Callable

import pytest

from plimsoll.planning.actions import Plan
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.planned import planned
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import (
    a_gpu_pod,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.objects.manifests import edited

TEMPLATE = a_template({"cpu": "6", "memory": "10Gi"})
GANG = at(a_training_job("gang", template=TEMPLATE), "n-0")
SERVICE = at(an_inference_job("serve", template=TEMPLATE), "n-0")
ELSEWHERE = fake_node("n-1", gpus=4)


def its_pods(job: Manifest) -> list[Manifest]:
    """A job's pods, as bound with what its template asked for when they were made."""
    pods = pods_of(job)
    for pod in pods:
        pod["spec"]["containers"] = copy.deepcopy(TEMPLATE["spec"]["containers"])
    return pods


def the_node(cpu: str = "16", memory: str = "64Gi") -> Manifest:
    return fake_node("n-0", gpus=4, cpu=cpu, memory=memory)


def changed(plan: Plan) -> set[str]:
    return {each.job.rpartition("/")[2] for each in plan.changes}


def with_slots(node: Manifest, pods: str) -> Manifest:
    room = {**node["status"]["allocatable"], "pods": pods}
    return edited(node, {"status": {"capacity": room, "allocatable": room}})


@pytest.mark.parametrize(
    "node",
    [the_node(cpu="8"), the_node(memory="12Gi"), with_slots(the_node(), "1")],
    ids=["cpu", "memory", "pods"],
)
@pytest.mark.parametrize("seen_before", [False, True])
def test_what_runs_there_stays_and_nothing_is_added(node: Manifest, *, seen_before: bool) -> None:
    builder = ProblemBuilder()
    running = [GANG, *its_pods(GANG), SERVICE, *its_pods(SERVICE)]
    if seen_before:
        assert changed(planned(the_node(), *running, builder=builder)) == set()
    new = a_training_job("new", template=a_template({"cpu": "1", "memory": "1Gi"}))
    plan = planned(node, ELSEWHERE, *running, builder=builder)
    assert changed(plan) == set(), "though there is room elsewhere"
    plan = planned(node, *running, new, builder=builder)
    assert changed(plan) == set()
    assert [hold.job.rpartition("/")[2] for hold in plan.holds] == ["new"]


def test_what_others_come_to_take_there_moves_nothing_either() -> None:
    builder, running = ProblemBuilder(), [GANG, *its_pods(GANG), SERVICE, *its_pods(SERVICE)]
    assert changed(planned(the_node(), *running, builder=builder)) == set()
    other = a_gpu_pod("other", "n-0", cpu="6")
    assert changed(planned(the_node(), *running, other, builder=builder)) == set()


def unbound(job: Manifest) -> list[Manifest]:
    pods = its_pods(job)
    for pod in pods:
        del pod["spec"]["nodeName"]
    return pods


def ended(job: Manifest) -> list[Manifest]:
    pods = its_pods(job)
    for pod in pods:
        pod["status"] = {"phase": "Failed"}
    return pods


def gone(_: Manifest) -> list[Manifest]:
    return []


@pytest.mark.parametrize("pods", [unbound, ended, gone])
def test_what_would_have_to_be_bound_anew_leaves(
    pods: Callable[[Manifest], list[Manifest]],
) -> None:
    plan = planned(the_node(cpu="4"), ELSEWHERE, GANG, *pods(GANG))
    assert changed(plan) == {"gang"}


def test_what_one_of_them_leaves_belongs_to_nobody() -> None:
    builder, node = ProblemBuilder(), the_node(cpu="8")
    running = [GANG, *its_pods(GANG), SERVICE, *its_pods(SERVICE)]
    assert changed(planned(node, *running, builder=builder)) == set()
    new = a_training_job("new", template=TEMPLATE)
    plan = planned(node, SERVICE, *its_pods(SERVICE), new, builder=builder)
    assert changed(plan) == set()
    small = a_training_job("small", template=a_template({"cpu": "2"}))
    plan = planned(node, SERVICE, *its_pods(SERVICE), small, builder=builder)
    assert changed(plan) == {"small"}


def test_a_template_that_asks_for_more_than_there_is_does_not_stay() -> None:
    larger = at(a_training_job("gang", template=a_template({"cpu": "12"})), "n-0")
    pods = its_pods(GANG)
    assert changed(planned(the_node(cpu="8"), ELSEWHERE, larger, *pods)) == {"gang"}


def test_sidecars_that_were_added_stay_too() -> None:
    pods = [*its_pods(GANG), *its_pods(SERVICE)]
    for pod in pods:
        sidecar = {"name": "mesh", "resources": {"requests": {"cpu": "1"}}}
        pod["spec"]["containers"].append(sidecar)
    assert changed(planned(the_node(cpu="8"), ELSEWHERE, GANG, SERVICE, *pods)) == set()


HCA = "rdma/hca"
WIRED = a_template({HCA: "2"})


def with_devices(name: str, count: int) -> Manifest:
    return fake_node(name, gpus=4, resources={HCA: str(count)} if count else {})


def wired_pods(job: Manifest, hcas: int = 2) -> list[Manifest]:
    """A job's pods, as bound with so many network devices."""
    pods = pods_of(job)
    for pod in pods:
        resources = {"requests": {HCA: str(hcas)}, "limits": {HCA: str(hcas)}}
        pod["spec"]["containers"] = [{"name": "main", "resources": resources}]
    return pods


@pytest.mark.parametrize("others", [0, 1])
def test_network_devices_whose_plugin_restarts_stay_with_their_pods(others: int) -> None:
    gang = at(a_training_job("gang", template=WIRED), "n-0")
    other = a_gpu_pod("other", "n-0")
    limits = {"limits": {HCA: str(others)}} if others else {}
    other["spec"]["containers"][0]["resources"] = limits
    running, builder = [gang, *wired_pods(gang), other], ProblemBuilder()
    assert changed(planned(with_devices("n-0", 4), *running, builder=builder)) == set()
    new = a_training_job("new", template=WIRED)
    assert changed(planned(with_devices("n-0", 0), *running, new, builder=builder)) == set()
    elsewhere = with_devices("n-1", 4)
    plan = planned(with_devices("n-0", 0), elsewhere, *running, new, builder=builder)
    assert changed(plan) == {"new"}
    assert changed(planned(with_devices("n-0", 0), elsewhere, gang)) == {"gang"}, "not bound"


def test_of_devices_no_more_is_kept_than_pods_were_given() -> None:
    gang = at(a_training_job("gang", template=a_template({HCA: "4"})), "n-0")
    nodes, pods = (with_devices("n-0", 2), with_devices("n-1", 4)), wired_pods(gang, 2)
    assert changed(planned(*nodes, gang, *pods)) == {"gang"}, "its template asks for more now"


def test_devices_that_admission_added_are_kept_beside_those_of_the_template() -> None:
    gang = at(a_training_job("gang", template=WIRED), "n-0")
    nodes, pods = (with_devices("n-0", 0), with_devices("n-1", 4)), wired_pods(gang, 3)
    assert changed(planned(*nodes, gang, *pods)) == set()


def test_what_stays_shrunk_is_the_same_object_from_turn_to_turn() -> None:
    builder, running = ProblemBuilder(), [GANG, *its_pods(GANG), SERVICE, *its_pods(SERVICE)]
    snapshot = seen(the_node(cpu="8"), *running)
    first = builder.cluster(snapshot)
    assert first.nodes[0].cpu_millis == 12_000
    assert builder.cluster(snapshot) is first


def test_a_node_on_which_a_job_has_a_port_is_not_shrunk() -> None:
    template = a_template(hostNetwork=True)
    template["spec"]["containers"][0]["ports"] = [{"containerPort": 29500, "hostPort": 29500}]
    gang = at(a_training_job("gang", template=template), "n-0")
    (pod,) = pods_of(gang)
    pod["spec"] |= copy.deepcopy(template["spec"])
    snapshot = seen(the_node(), gang, pod)
    assert ProblemBuilder().cluster(snapshot).nodes[0].others == (("ephemeral-storage", 1 << 40),)
    assert changed(planned(the_node(), ELSEWHERE, gang, pod)) == set()
