"""The step of a job that stands for a workload of another kind: what it waits for, and how long."""

from collections.abc import Callable

import pytest

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Admit, Preempt
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.adopted_steps import sent, status_of, stepped, writes
from support.clusters.adopted_workloads import (
    SUSPENDED,
    a_pod_of,
    a_stand_in,
    at_rest,
    jobs_of,
    jobset_of,
    with_status,
)
from support.clusters.seen import NAMESPACE
from support.objects.manifests import edited
from support.objects.workloads import (
    a_jobset,
    a_kubeflow_job,
    a_ray_cluster,
    a_ray_job,
    a_train_job,
    asking,
    held,
    replicated,
    suspended,
)

LONG_AGO, JUST_NOW = "2026-11-21T10:00:00Z", "2026-11-21T11:58:00Z"
NO_LONGER: Manifest = {"metadata.labels": {}}
INDEX = "training.kubeflow.org/replica-index"
STARTED = {"startedTime": "2026-11-21T11:00:00Z"}


def placed_on(name: str, *nodes: str) -> Admit:
    role, kind = RoleName("worker"), GpuType(H100)
    places = tuple(Assignment(role, n, kind, (NodeName(node),)) for n, node in enumerate(nodes))
    return Admit(JobName(f"TrainingJob/{NAMESPACE}/{name}"), places, Reason.ADMITTED, "placed")


def resumed(workload: Manifest, at: str = JUST_NOW) -> Manifest:
    """The workload as it runs since then."""
    runs = suspended(workload, suspend=False)
    if workload["kind"] == "PyTorchJob":
        return with_status(runs, startTime=at, conditions=[{"type": "Running", "status": "True"}])
    said = {**SUSPENDED, "status": "False", "lastTransitionTime": at}
    return with_status(runs, conditions=[said])


def a_driven_set() -> Manifest:
    """A held JobSet of two workers with a GPU each, and a driver."""
    jobs = [replicated("workers", workers=2, gpus=1), replicated("driver")]
    return held(asking(a_jobset(replicatedJobs=jobs)))


def driven(at: str = JUST_NOW, *, driver: str = "", gated: bool = True) -> list[Manifest]:
    """The cluster of such a JobSet that runs, its driver on a node if one is named."""
    jobset = resumed(a_driven_set(), at)
    workers, of_driver = jobs = jobs_of(jobset)
    nodes = ["", ""] if gated else ["a", "b"]
    pods = [
        *(a_pod_of(workers, n, node, stand_in="jobset-train") for n, node in enumerate(nodes)),
        a_pod_of(of_driver, 0, driver, gpus=0),
    ]
    return [jobset, *jobs, *pods, a_stand_in(a_driven_set(), on=("a", "b"))]


def test_the_gang_is_sent_only_once_its_pods_without_gpus_have_found_nodes() -> None:
    assert stepped(*driven()).workload is None
    assert sent(stepped(*driven(driver="a"))) == [
        ("train-workers-0-0", "a", "0"),
        ("train-workers-0-1", "b", "1"),
    ]


@pytest.mark.parametrize(
    ("make", "written"), [(a_ray_cluster, (None, 3)), (a_ray_job, (True, None))]
)
def test_one_that_runs_follows_a_new_size_or_is_suspended_and_resumed_with_it(
    make: Callable[..., Manifest], written: tuple[bool | None, int | None]
) -> None:
    elastic = held(asking(make(workers=2), {"workers.min": "2", "workers.max": "4"}))
    runs = suspended(elastic, suspend=False)
    stand_in = a_stand_in(elastic, on=("a", "a", "b"))
    found = writes(stepped(runs, stand_in))
    assert (found.suspend, found.size) == written


def test_a_gang_that_runs_does_not_wait_for_pods_without_gpus() -> None:
    *others, stand_in = driven()
    stand_in["status"] |= STARTED
    assert len(sent(stepped(*others, stand_in))) == 2


def test_a_gang_whose_pods_without_gpus_find_no_nodes_in_time_gives_up_its_place() -> None:
    early = stepped(*driven(JUST_NOW))
    assert status_of(early).placement is not None
    assert early.rests_until is not None
    late = stepped(*driven(LONG_AGO))
    assert status_of(late).placement is None
    assert late.status.reason == "PodsReadyTimeout"
    assert late.status.message.startswith(
        "0 of the 1 pods of JobSet train without GPUs have found a node in time, and the others"
        " wait for them: make room for them, or lower their requests"
    )
    assert writes(late).suspend is True
    assert status_of(stepped(*driven(LONG_AGO, driver="a"))).placement is not None


def test_a_gang_whose_pods_are_never_made_gives_up_its_place() -> None:
    job = held(asking(a_kubeflow_job(Worker=(2, 1))))
    stand_in = a_stand_in(job, on=("a", "b"))
    runs = resumed(job, LONG_AGO)
    late = stepped(runs, stand_in, a_pod_of(runs, 0))
    assert status_of(late).placement is None
    assert late.status.message.startswith(
        "PyTorchJob train has made 1 of 2 pods in time: kubectl describe pytorchjob train says"
    )
    recently = resumed(job)
    assert status_of(stepped(recently, stand_in, a_pod_of(runs, 0))).placement is not None


def test_only_as_many_pods_are_awaited_as_a_jobsets_jobs_have_left() -> None:
    jobset = held(asking(a_jobset(workers=2)))
    runs = resumed(jobset)
    (job,) = jobs_of(runs)
    one_left = {**job, "status": {"succeeded": 1}}
    stand_in = a_stand_in(jobset, on=("a", "b"))
    assert len(sent(stepped(runs, one_left, a_pod_of(job, 1), stand_in))) == 1
    assert stepped(runs, job, a_pod_of(job, 1), stand_in).workload is None


EVERY = {
    "jobset-train": held(asking(a_jobset())),
    "pytorchjob-train": held(asking(a_kubeflow_job(Worker=(2, 1)))),
    "trainjob-train": held(asking(a_train_job())),
}


def cluster(workload: Manifest) -> list[Manifest]:
    """The workload and what it has made, at rest."""
    made = [jobset_of(workload, gated=True)] if workload["kind"] == "TrainJob" else []
    return [*map(at_rest, (workload, *made))]


@pytest.mark.parametrize(("name", "workload"), EVERY.items(), ids=EVERY)
def test_one_with_a_place_is_resumed_once_it_is_at_rest(name: str, workload: Manifest) -> None:
    rests, admit = cluster(workload), placed_on(name, "a", "b")
    stand_in = a_stand_in(*rests)
    step = stepped(*rests, stand_in, decided=admit)
    assert writes(step).suspend is False
    assert status_of(step).placement is not None
    restless = [edited(each, {"status": {}}) for each in rests]
    assert stepped(*restless, stand_in, decided=admit).workload is None


@pytest.mark.parametrize(("name", "workload"), EVERY.items(), ids=EVERY)
def test_one_that_no_longer_asks_is_not_resumed(name: str, workload: Manifest) -> None:
    rests, admit = cluster(workload), placed_on(name, "a", "b")
    stand_in = a_stand_in(*rests)
    first, *made = rests
    asks_no_more = edited(first, NO_LONGER)
    step = stepped(asks_no_more, *made, stand_in, decided=admit)
    assert step.workload is None
    placed = a_stand_in(*rests, on=("a", "b"))
    assert stepped(asks_no_more, *made, placed).workload is None


@pytest.mark.parametrize("name", EVERY)
def test_one_that_is_preempted_is_suspended_and_keeps_its_pods_to_its_controller(
    name: str,
) -> None:
    workload = EVERY[name]
    first, *made = cluster(workload)
    runs = [resumed(first), *made]
    maker = made[0] if made else first
    pods = [a_pod_of(maker, n, node, stand_in=name) for n, node in enumerate("ab")]
    job = JobName(f"TrainingJob/{NAMESPACE}/{name}")
    preempt = Preempt(job, Reason.PREEMPTED, "for another")
    stand_in = a_stand_in(first, *made, on=("a", "b"))
    step = stepped(*runs, *pods, stand_in, decided=preempt)
    assert writes(step).suspend is True
    assert not step.delete


def test_workers_beside_a_master_are_resumed_as_many_as_there_is_room_for() -> None:
    said = {"workers.min": "2", "workers.max": "4"}
    job = held(asking(a_kubeflow_job(Master=(1, 1), Worker=(1, 1)), said))
    step = stepped(at_rest(job), a_stand_in(job, on=("a", "a", "b")))
    assert (writes(step).suspend, writes(step).size) == (False, 3)
    sizing = writes(step).workload.sizing
    assert sizing is not None
    path = "/spec/pytorchReplicaSpecs/Worker/replicas"
    assert sizing.operations(3) == [{"op": "add", "path": path, "value": 2}]


def test_workers_go_where_their_number_was() -> None:
    job = held(asking(a_kubeflow_job(Worker=(2, 1))))
    runs = resumed(job)
    pods = [edited(a_pod_of(runs, 9 - n), {"metadata.labels": {INDEX: str(n)}}) for n in range(2)]
    found = sent(stepped(runs, *pods, a_stand_in(job, on=("a", "b"))))
    assert sorted(found) == [("train-8", "b", "1"), ("train-9", "a", "0")]
