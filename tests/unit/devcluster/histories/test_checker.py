import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.histories.checker import Witness, complaints, unreported
from plimsoll_devcluster.histories.drawn import script
from plimsoll_devcluster.histories.script import HIGH, LOW, PLENTY, Lane
from plimsoll_devcluster.histories.world import World, name_of
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.proxies.fault_kinds import Fault
from support.objects.job_manifests import a_template, a_training_job, an_inference_job

NAMESPACE = "lane"
READY = [{"type": "Ready", "status": "True"}]


def a_node(name: str, gpus: int = 2, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    node = fake_node(name, gpus=gpus)
    return {**node, "spec": {**node["spec"], **spec}}


def stored(job: Manifest, reason: str, *nodes: str, **conditions: str) -> Manifest:
    """A job as the API server has it, with a place on these nodes."""
    role = "worker" if job["kind"] == "TrainingJob" else "server"
    places = [
        {"role": role, "replica": n, "nodes": [node], "revision": 1} for n, node in enumerate(nodes)
    ]
    status = {
        "observedGeneration": 1,
        "reason": reason,
        "message": "said",
        "placement": {"assignments": places} if places else None,
        "conditions": [{"type": kind, "status": value} for kind, value in conditions.items()],
    }
    meta = {"uid": f"uid-{name_of(job)}", "generation": 1, "namespace": NAMESPACE}
    return {**job, "metadata": {**job["metadata"], **meta}, "status": status}


def pods_of(job: Manifest, gpus: int = 1) -> list[Manifest]:
    placement: Manifest = job["status"]["placement"] or {}
    places: list[Manifest] = placement.get("assignments", [])
    return [
        {
            "metadata": {
                "name": f"{name_of(job)}-{place['role']}-{place['replica']}",
                "namespace": NAMESPACE,
                "labels": {
                    "plimsoll.dev/job-uid": job["metadata"]["uid"],
                    "plimsoll.dev/job-name": name_of(job),
                    "plimsoll.dev/job-kind": job["kind"],
                    "plimsoll.dev/role": place["role"],
                    "plimsoll.dev/replica": str(place["replica"]),
                    "plimsoll.dev/revision": str(place["revision"]),
                },
            },
            "spec": {
                "nodeName": place["nodes"][0],
                "containers": [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
            },
            "status": {"phase": "Running", "conditions": READY},
        }
        for place in places
    ]


def a_world(*jobs: Manifest, nodes: list[Manifest], gpus: int = 1) -> World:
    pods = [pod for job in jobs for pod in pods_of(job, gpus)]
    return World({name_of(node): node for node in nodes}, pods, list(jobs), [])


def a_lane(*jobs: Manifest) -> Lane:
    return Lane(NAMESPACE, jobs={name_of(job): job for job in jobs})


GANG = stored(a_training_job("gang", workers=2), "Running", "n", "n", Running="True")


def judged(change: Callable[[World], object] = lambda _: None) -> list[str]:
    world = copy.deepcopy(a_world(GANG, nodes=[a_node("n")]))
    change(world)
    return complaints(world, a_lane(GANG))


def test_a_gang_that_runs_where_it_is_placed_is_well() -> None:
    assert judged() == []


WRONG: list[tuple[str, Callable[[World], object]]] = [
    ("is lost", lambda w: w.jobs.clear()),
    ("is an orphan", lambda w: w.jobs.clear()),
    ("its placement wants", lambda w: w.pods.pop()),
    ("its placement wants", lambda w: w.pods.append(w.pods[0])),
    ("its placement wants", lambda w: w.pods[0]["spec"].update(nodeName="other")),
    ("not ready", lambda w: w.pods[0]["status"].update(conditions=[])),
    ("not ready", lambda w: w.pods[0]["metadata"].update(deletionTimestamp="now")),
    ("gone or has a notice", lambda w: w.nodes.clear()),
    ("a status from before its last change", lambda w: w.jobs[0]["metadata"].update(generation=2)),
    ("a status without a reason or a message", lambda w: w.jobs[0]["status"].update(message="")),
    ("says Running", lambda w: w.jobs[0]["status"].update(conditions=[])),
    ("is suspended", lambda w: w.jobs[0]["spec"].update(suspend=True)),
]


@pytest.mark.parametrize(("complaint", "change"), WRONG)
def test_whatever_is_wrong_is_complained_of(complaint: str, change: Callable[[World], Any]) -> None:
    found = judged(change)
    wanted = "are lost" if complaint == "is lost" else complaint
    assert any(wanted in each for each in found), found


def waiting(reason: str, **job: Any) -> Manifest:  # noqa: ANN401 - as the builder takes them
    return stored(a_training_job("late", **job), reason, Admitted="False")


def of_waiting(job: Manifest, *others: Manifest, nodes: list[Manifest]) -> list[str]:
    return complaints(a_world(job, *others, nodes=nodes), a_lane(job, *others))


@pytest.mark.parametrize(
    ("reason", "node"),
    [
        ("CannotFit", a_node("n", 2)),
        ("NoEligibleNode", a_node("n", 4, unschedulable=True)),
        ("InsufficientGPUs", a_node("n", 2)),
    ],
)
def test_whoever_waits_for_what_is_not_there_waits_rightly(reason: str, node: Manifest) -> None:
    assert of_waiting(waiting(reason, workers=3), nodes=[node]) == []


@pytest.mark.parametrize("reason", ["CannotFit", "InsufficientGPUs", "Pending"])
def test_whoever_waits_for_what_is_free_is_wronged(reason: str) -> None:
    found = of_waiting(waiting(reason, workers=2), nodes=[a_node("n", 2)])
    assert any("there is room" in each for each in found)


@pytest.mark.parametrize(
    ("reason", "workers"), [("CannotFit", 2), ("NoEligibleNode", 2), ("LowerPriority", 2)]
)
def test_a_reason_that_is_not_true_is_complained_of(reason: str, workers: int) -> None:
    found = of_waiting(waiting(reason, workers=workers), GANG, nodes=[a_node("n", 2)])
    assert any("which is not so" in each for each in found), found


def a_limited_lane(*jobs: Manifest, queue_gpus: int = PLENTY, powered_gpus: int = PLENTY) -> Lane:
    nodes = {"n": a_node("n", 4)}
    lane = a_lane(*jobs)
    return replace(lane, nodes=nodes, queue_gpus=queue_gpus, powered_gpus=powered_gpus)


@pytest.mark.parametrize(
    ("reason", "limit"),
    [("QueueLimit", {"queue_gpus": 3}), ("PowerBudget", {"powered_gpus": 3})],
)
def test_a_limit_lets_jobs_wait_and_none_exceed_it(reason: str, limit: dict[str, int]) -> None:
    runs = {**GANG, "spec": {**GANG["spec"], "queue": NAMESPACE}}
    late = waiting(reason, workers=2, queue=NAMESPACE)
    world = a_world(runs, late, nodes=[a_node("n", 4)])
    assert complaints(world, a_limited_lane(runs, late, **limit)) == []
    found = complaints(world, a_limited_lane(runs, late))
    assert any("there is room" in each for each in found), found
    found = complaints(world, a_limited_lane(runs, late, **dict.fromkeys(limit, 1)))
    assert any("than it may" in each or "than they may" in each for each in found), found


def test_of_pods_on_a_silent_node_nothing_is_expected() -> None:
    silent = a_node("n")
    silent["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    world = copy.deepcopy(a_world(GANG, nodes=[silent]))
    for pod in world.pods:
        pod["status"]["conditions"] = []
    assert complaints(world, a_lane(GANG)) == []


def test_pods_that_have_failed_may_be_kept_by_a_workloads_own_controller_only() -> None:
    world = copy.deepcopy(a_world(GANG, nodes=[a_node("n")]))
    world.pods.append({**copy.deepcopy(world.pods[0]), "status": {"phase": "Failed"}})
    assert any("its placement wants" in each for each in complaints(world, a_lane(GANG)))
    assert complaints(world, replace(a_lane(GANG), workloads={"gang": {}})) == []


def test_whoever_is_more_urgent_does_not_wait_for_others() -> None:
    late = waiting("InsufficientGPUs", workers=2, priorityClassName=HIGH)
    found = of_waiting(late, GANG, nodes=[a_node("n", 2)])
    assert any("lower priority" in each for each in found), found


def test_whoever_is_less_urgent_waits_rightly_for_others() -> None:
    late = waiting("LowerPriority", workers=2, priorityClassName=LOW)
    assert of_waiting(late, GANG, nodes=[a_node("n", 2)]) == []


def test_a_service_with_less_than_it_wants_where_there_is_room_is_wronged() -> None:
    service = stored(an_inference_job("s", replicas=2), "Starting", "n", Admitted="True")
    world = a_world(service, nodes=[a_node("n", 2)])
    assert any("there is room" in each for each in complaints(world, a_lane(service)))
    world = a_world(service, nodes=[a_node("n", 1)])
    assert complaints(world, a_lane(service)) == []


def a_witness(gpus: int, most: int) -> Witness:
    witness = Witness()
    nodes = {"n": a_node("n", gpus)}
    witness.expect(Lane(NAMESPACE, nodes=nodes, most_pods={"gang": most}))
    for pod in pods_of(GANG):
        witness.see("ADDED", pod)
    return witness


def test_a_gpu_that_is_given_twice_for_a_moment_is_seen() -> None:
    assert not a_witness(gpus=2, most=2).violations
    witness = a_witness(gpus=1, most=2)
    for pod in pods_of(GANG):
        witness.see("DELETED", pod)
    assert "has 1 GPUs" in witness.violations[NAMESPACE][0]


def test_a_pod_too_many_for_a_moment_is_seen() -> None:
    assert "may have 1" in a_witness(gpus=2, most=1).violations[NAMESPACE][0]


def test_workers_of_two_revisions_at_once_are_seen() -> None:
    witness = a_witness(gpus=2, most=2)
    newer = copy.deepcopy(pods_of(GANG)[0])
    newer["metadata"]["labels"]["plimsoll.dev/revision"] = "2"
    witness.see("MODIFIED", newer)
    assert "revisions ['1', '2']" in witness.violations[NAMESPACE][0]


def test_a_script_is_drawn_from_its_seed_alone() -> None:
    assert script(7, 3) == script(7, 3)
    assert script(7, 3) != script(8, 3)
    assert script(7, 3).lanes == script(7, 5).lanes[:3]


def test_some_gangs_are_jobs_that_are_held_and_adopted() -> None:
    lanes = [lane for seed in range(10) for lane in script(seed, 4).lanes]
    adopted = [(lane, name, job) for lane in lanes for name, job in lane.workloads.items()]
    assert len(adopted) >= 5
    for lane, name, job in adopted:
        assert name == f"job-{name_of(job)}"
        assert job["spec"]["suspend"]
        assert job["spec"]["template"]["spec"]["schedulingGates"]
        assert job["metadata"]["labels"] == {"plimsoll.dev/queue": lane.namespace}
        (comes,) = [call for call in lane.calls if call.body is job]
        assert comes.path == f"/apis/batch/v1/namespaces/{lane.namespace}/jobs"
        gone = [call for call in lane.calls if call.what == f"{name} goes"]
        assert bool(gone) is (name not in lane.jobs)


def test_an_operator_that_has_become_deaf_does_not_die_of_it() -> None:
    rounds = [script(seed, 0).blows for seed in range(40)]
    deaf = [blows for blows in rounds if any(blow.fault is Fault.HALF_OPEN for blow in blows)]
    assert len(deaf) >= 7
    assert {blows[-1].fault for blows in deaf} == {Fault.HALF_OPEN}


def test_no_lane_touches_another() -> None:
    lanes = script(3, 4).lanes
    for lane in lanes:
        others = [other.namespace for other in lanes if other is not lane]
        assert not [c for c in lane.calls if any(f"{name}/" in c.path for name in others)]
        assert all(name.startswith(lane.namespace) for name in lane.nodes)


@pytest.mark.parametrize("wishes", [{"run-seconds": "1"}, {}])
def test_only_what_was_to_end_may_be_complete(wishes: dict[str, str]) -> None:
    ends = a_training_job("ends", template=a_template(wishes=wishes))
    done = stored(ends, "Completed", "n", Complete="True")
    world = a_world(done, nodes=[a_node("n")])
    for pod in world.pods:
        pod["status"]["phase"] = "Succeeded"
    assert bool(complaints(world, a_lane(done))) is not bool(wishes)


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"observedGeneration": 1},
        {"observedGeneration": 1, "reason": "InvalidSpec"},
        {"observedGeneration": 0, "reason": "InvalidSpec", "message": "said"},
    ],
)
def test_a_hostile_job_says_why_it_waits(status: Manifest) -> None:
    waits = stored(a_training_job("train"), "InvalidSpec")
    assert unreported(World({}, [], [waits], [])) == []
    assert unreported(World({}, [], [{**waits, "status": status}], [])) != []
