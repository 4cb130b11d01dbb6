"""A PyTorchJob and its kin as they are planned: which pods are the gang, and how they stand."""

from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.observe.adoption.gangs import gang_of
from plimsoll.observe.adoption.workload_view import Outcome
from plimsoll.observe.adoption.workloads import Workload
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import (
    SUSPENDED,
    at_rest,
    candidate,
    only,
    problem,
    view,
    with_status,
)
from support.objects.manifests import GONE, edited
from support.objects.workloads import REPLICA_SPECS, a_kubeflow_job, asking, held, suspended

RUNNING = {"type": "Running", "status": "True"}
RANGE = {"workers.min": "2", "workers.max": "4"}
ROLES: dict[str, dict[str, tuple[int, int]]] = {
    "PyTorchJob": {"Master": (1, 2), "Worker": (3, 2)},
    "TFJob": {"PS": (2, 0), "Worker": (4, 2)},
    "MPIJob": {"Launcher": (1, 0), "Worker": (4, 2)},
    "JAXJob": {"Worker": (4, 2)},
    "XGBoostJob": {"Master": (1, 2), "Worker": (3, 2)},
    "PaddleJob": {"Master": (1, 0), "Worker": (4, 2)},
}
EVERY = pytest.mark.parametrize("kind", REPLICA_SPECS)


def of_kind(kind: str, said: dict[str, str] | None = None) -> Manifest:
    return held(asking(a_kubeflow_job(kind, **ROLES[kind]), said))


def of(*, said: dict[str, str] | None = None, **roles: tuple[int, int]) -> Manifest:
    """A held PyTorchJob of so many pods with so many GPUs each, by role."""
    return held(asking(a_kubeflow_job(**roles), said))


def running(job: Manifest, succeeded: int, **status: Any) -> Manifest:  # noqa: ANN401 - a status
    """The job while so many of its workers have succeeded."""
    counts = {"Worker": {"active": 1, "succeeded": succeeded}}
    seen = {"conditions": [RUNNING], "replicaStatuses": counts, **status}
    return with_status(suspended(job, suspend=False), **seen)


def refusal(found: Workload) -> str:
    return "" if found.problem is None else found.problem.message


@EVERY
def test_the_gang_are_the_pods_with_gpus_and_others_are_beside_it(kind: str) -> None:
    found = candidate(of_kind(kind))
    gang, beside = gang_of(found), sum(n for n, gpus in ROLES[kind].values() if not gpus)
    assert (gang.count, gang.gpus) == (4, 2)
    assert (found.view.parallelism, found.view.due, found.view.beside) == (4, 4, beside)
    assert [each.count_field for each in found.pod_sets] == [
        f"spec.{REPLICA_SPECS[kind]}.{role}.replicas" for role in sorted(ROLES[kind])
    ]


@EVERY
def test_its_workers_are_what_changes_its_size(kind: str) -> None:
    found = view(of_kind(kind))
    assert found.sizing is not None
    fixed = sum(n for role, (n, gpus) in ROLES[kind].items() if gpus and role != "Worker")
    assert found.sizing.fixed == fixed
    path = f"/spec/{REPLICA_SPECS[kind]}/Worker/replicas"
    assert found.sizing.operations(6) == [{"op": "add", "path": path, "value": 6 - fixed}]
    assert gang_of(candidate(of_kind(kind))).is_elastic


@EVERY
def test_its_pods_are_numbered_unless_several_roles_count_from_0(kind: str) -> None:
    found = view(of_kind(kind))
    has_fixed = found.sizing is not None and found.sizing.fixed
    assert found.numbered_by == ("" if has_fixed else "training.kubeflow.org/replica-index")


@EVERY
def test_it_may_be_resized_within_a_range(kind: str) -> None:
    found = only(of_kind(kind, RANGE))
    assert found.wanted is not None, refusal(found)
    workers = found.wanted.job.spec.workers
    assert (workers.min, workers.max, workers.gpus_per_worker) == (2, 4, 2)


def test_a_number_of_pods_that_is_not_given_is_one() -> None:
    job = edited(of(Worker=(3, 1)), {"spec.pytorchReplicaSpecs.Worker.replicas": GONE})
    assert gang_of(candidate(job)).count == 1


def test_what_succeeds_while_it_runs_is_due_no_more() -> None:
    job = of(Master=(1, 1), Worker=(3, 1))
    assert view(running(job, succeeded=0)).due == 4
    assert view(running(job, succeeded=2)).due == 2


def test_what_succeeded_without_gpus_leaves_the_gang_as_large_as_it_is() -> None:
    job = of(Master=(1, 0), Worker=(3, 1))
    counts = {"Master": {"succeeded": 1}, "Worker": {"active": 3}}
    found = view(running(job, 0, replicaStatuses=counts))
    assert (found.due, found.beside) == (3, 1)


def test_what_succeeded_in_its_last_run_is_due_again() -> None:
    job, resumed = of(Worker=(3, 1)), {"type": "Running", "status": "False"}
    stopped = suspended(running(job, succeeded=2))
    assert view(stopped).due == 3
    assert view(running(job, succeeded=2, conditions=[SUSPENDED])).due == 3
    assert view(running(job, succeeded=2, conditions=[resumed])).due == 3


def test_it_is_at_rest_once_its_controller_says_so() -> None:
    job = of(Worker=(1, 1))
    assert not view(job).at_rest
    assert view(at_rest(job)).at_rest
    assert not view(at_rest(suspended(job, suspend=False))).at_rest
    ended = {"type": "Suspended", "status": "False"}
    assert not view(with_status(job, conditions=[ended])).at_rest


def test_it_has_run_since_its_controller_started_it_again() -> None:
    job, began = of(Worker=(1, 1)), "2026-11-21T11:00:00Z"
    assert view(running(job, 0, startTime=began)).since == datetime(2026, 11, 21, 11, tzinfo=UTC)
    # It has been resumed, and its controller has not seen that: the time is that of its last run.
    assert view(running(job, 0, startTime=began, conditions=[SUSPENDED])).since is None
    assert view(suspended(running(job, 0, startTime=began))).since is None


def test_it_ends_as_its_controller_says() -> None:
    job = of(Worker=(1, 1))
    failed = {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "died"}
    done = {"type": "Succeeded", "status": "True", "message": "PyTorchJob train succeeded"}
    outcomes = [
        view(with_status(job, conditions=each)).outcome for each in ([RUNNING], [failed], [done])
    ]
    assert outcomes == [
        None,
        Outcome(failed=True, message="PyTorchJobFailed: died"),
        Outcome(failed=False, message="PyTorchJob train succeeded"),
    ]


def test_failures_are_those_of_all_its_pods() -> None:
    counts = {"Master": {"failed": 1}, "Worker": {"failed": 2}}
    assert view(with_status(of(Master=(1, 0), Worker=(3, 1)), replicaStatuses=counts)).failures == 3


def test_pods_that_are_there_at_any_size_count_towards_the_least() -> None:
    said = {"workers.min": "1", "workers.max": "4"}
    too_few = problem(of(said=said, Master=(1, 1), Worker=(1, 1)))
    assert too_few == (
        "annotation plimsoll.dev/workers.min: counts all pods with GPUs, of which PyTorchJob train"
        " has 1 at any size: set it to 2 or more"
    )
    assert problem(of(said=said, Worker=(1, 1))) == ""


ELASTIC: dict[str, Any] = {"minReplicas": 1, "maxReplicas": 4}
METRICS = {**ELASTIC, "metrics": [{"type": "Resource", "resource": {"name": "cpu"}}]}


@pytest.mark.parametrize(
    ("roles", "policy"),
    [
        ({"Master": (1, 1)}, None),
        ({"Master": (1, 1), "Worker": (2, 0)}, None),
        ({"Master": (1, 1), "Worker": (2, 1)}, METRICS),
    ],
)
def test_a_job_without_workers_to_add_cannot_change_its_size(
    roles: dict[str, tuple[int, int]], policy: Manifest | None
) -> None:
    edits = {} if policy is None else {"spec.elasticPolicy": policy}
    job = edited(of(said=RANGE, **roles), edits)
    assert view(job).sizing is None
    assert problem(job) == (
        "annotations plimsoll.dev/workers.min and .max: PyTorchJob train cannot change its size:"
        " give it a replica type Worker with GPUs, and no elasticPolicy.metrics, or remove them"
    )


def test_torchruns_own_range_does_not_matter() -> None:
    job = edited(of(said=RANGE, Worker=(2, 1)), {"spec.elasticPolicy": ELASTIC})
    assert problem(job) == ""


PODS = "spec.pytorchReplicaSpecs.{}.template"


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        (
            {"spec.pytorchReplicaSpecs": GONE},
            "spec: describes no pods, and so asks for no GPU: add",
        ),
        ({"spec.pytorchReplicaSpecs": {}}, "spec: describes no pods, and so asks for no GPU: add"),
        (
            {"spec.pytorchReplicaSpecs.Master": GONE, f"{PODS.format('Worker')}.spec": {}},
            f"{PODS.format('Worker')}.spec.containers[0].resources.limits: asks for no GPU: set",
        ),
        (
            {f"{PODS.format('Worker')}.spec.nodeSelector": {"zone": "a"}},
            f"{PODS.format('Worker')}: its pods with GPUs differ from those of spec.pytorch",
        ),
        (
            {"spec.pytorchReplicaSpecs.Worker.replicas": 2**31 - 1},
            "spec.pytorchReplicaSpecs.Master.replicas of PyTorchJob train: 2147483648 pods at once",
        ),
        (
            {f"{PODS.format('Worker')}.spec.nodeName": "n"},
            f"{PODS.format('Worker')}.spec.nodeName: plans choose the nodes",
        ),
    ],
)
def test_unusual_ones_are_refused_by_the_field_at_fault(edits: Manifest, words: str) -> None:
    assert words in problem(edited(of(Master=(1, 1), Worker=(2, 1)), edits))


def test_a_job_without_run_policy_is_not_suspended_and_nobody_elses() -> None:
    found = only(asking(a_kubeflow_job(Worker=(1, 1))))
    assert not found.candidate.view.suspended
    assert refusal(found) == (
        "PyTorchJob train runs already, where kube-scheduler has put it: set"
        " spec.runPolicy.suspend of the PyTorchJob to true, and Plimsoll places it and resumes it"
    )
