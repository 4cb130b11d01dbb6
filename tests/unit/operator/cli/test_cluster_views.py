"""What commands make of a cluster's objects, as an API server sends them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.cli.cluster.objects import (
    GPUPool,
    InferenceJob,
    JobQueue,
    PlacementPolicy,
    PowerDomain,
    TrainingJob,
)
from plimsoll.cli.cluster.reading import Found, Known
from plimsoll.cli.views.gpus import Gpus, gpus_by_type, names_type, nodes_with_gpus
from plimsoll.cli.views.queue_order import QueuedTrainingJob, queue_order
from plimsoll.cli.views.queues import queues
from plimsoll.cli.views.status import status
from plimsoll.cli.views.top import jobs_now, nodes_now
from plimsoll.errors import NothingFound, UnusableCluster
from plimsoll.kube.objects.objects import KubeObject, Node, Pod, PriorityClass
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from support.objects.job_manifests import a_pool, a_training_job, an_inference_job
from support.objects.manifests import Manifest

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KINDS = (
    *(Node, Pod, TrainingJob, InferenceJob, JobQueue, GPUPool, PowerDomain),
    *(PlacementPolicy, PriorityClass, QueuedTrainingJob),
)
FORBIDDEN: Found[Any] = Found(missing="forbidden: none are shown", readable=False)


def known(*objects: KubeObject, hidden: tuple[type[KubeObject], ...] = ()) -> Known:
    """What was found, of kinds that are not hidden."""
    found: dict[type[KubeObject], Found[Any]] = {
        kind: Found(tuple(each for each in objects if type(each) is kind)) for kind in KINDS
    }
    return Known(found | dict.fromkeys(hidden, FORBIDDEN))


def read(manifest: Manifest, kind: type[KubeObject], **status: Any) -> Any:  # noqa: ANN401
    """An object of a kind, as a watch decodes it."""
    meta = {"namespace": "team", **manifest["metadata"]}
    whole = {**manifest, "metadata": meta, **({"status": status} if status else {})}
    return msgspec.json.decode(msgspec.json.encode(whole), type=kind)


def a_pod(node: str, devices: int, resource: str = "nvidia.com/gpu") -> Pod:
    container = {"name": "main", "resources": {"requests": {resource: str(devices)}}}
    spec = {"nodeName": node, "containers": [container]}
    return read({"metadata": {"name": f"on-{node}"}, "spec": spec}, Pod)


def placed(gpus: int | str = 4, nodes: tuple[str, ...] = ("a",), **status: Any) -> TrainingJob:  # noqa: ANN401
    """A job of one worker on each node."""
    job = a_training_job("runs", workers=len(nodes), gpus=gpus, queue="research")
    places = [
        {"role": "worker", "replica": i, "nodes": [node], "acceleratorType": H100}
        for i, node in enumerate(nodes)
    ]
    return read(job, TrainingJob, placement={"assignments": places}, **status)


def test_gpus_are_used_idle_or_unusable_and_shared_ones_count_in_parts() -> None:
    shared = fake_node("shared", L4, gpus=2, replicas=4)
    shut = fake_node("shut")
    shut["spec"]["unschedulable"] = True
    found = known(
        *(read(node, Node) for node in (fake_node("open"), shut, shared)),
        *(a_pod("open", 3), a_pod("shut", 5), a_pod("shared", 1), a_pod("gone", 8)),
    )
    assert gpus_by_type(found, nodes_with_gpus(found, NOW)) == (
        Gpus(H100, 16, 8, 5, 3),
        Gpus(L4, 2, 0.25, 1.75, 0),
    )


@pytest.mark.parametrize("hidden", [Node, Pod])
def test_without_a_right_to_nodes_or_pods_gpus_are_those_of_pools(
    hidden: type[KubeObject],
) -> None:
    pool = read(a_pool("p", {}), GPUPool, gpuType=H100, gpus=16, gpusUsed="7.5")
    found = known(pool, read(fake_node("open"), Node), hidden=(hidden,))
    assert status(found, NOW).gpus == (Gpus(H100, 16, 7.5, None, None),)


def test_power_is_what_was_measured_of_a_job_or_what_is_usual_of_its_pool() -> None:
    spec = {"power": {"idleWatts": 75, "typicalWatts": 560, "limitWatts": 700}}
    node = read(fake_node("a", labels={"pool": "h100"}), Node)
    pool = read(a_pool("h100", {"pool": "h100"}, **spec), GPUPool)
    measured = [{"role": "worker", "measuredWatts": 500}]
    (usual,) = nodes_now(known(node, pool, a_pod("a", 4), placed()), NOW).nodes
    assert usual.expected_watts == 4 * 560 + 4 * 75
    job = placed(power=measured)
    (known_,) = nodes_now(known(node, pool, a_pod("a", 6), job), NOW).nodes
    assert known_.expected_watts == 4 * 500 + 2 * 560 + 2 * 75
    assert jobs_now(known(job), NOW).jobs[0].watts == 4 * 500
    assert jobs_now(known(placed()), NOW).jobs[0].watts is None


def test_parts_of_gpus_and_gangs_on_several_nodes_are_added_up() -> None:
    (part,) = jobs_now(known(placed("0.25", ("a", "b", "c"))), NOW).jobs
    assert (part.gpus, part.state) == (0.75, "Starting")


def test_a_job_that_cannot_be_read_in_full_is_shown_as_far_as_it_can() -> None:
    bare = read(an_inference_job("bare"), InferenceJob)
    (shown,) = jobs_now(known(bare), NOW).jobs
    assert (shown.job, shown.state, shown.gpus) == ("InferenceJob/team/bare", "Waiting", 0)


def waits(name: str, *, hours: float = 0, created: int = 0, **spec: Any) -> QueuedTrainingJob:  # noqa: ANN401
    """A job that has waited for so long."""
    job = a_training_job(name, queue="research", **spec)
    job["metadata"]["creationTimestamp"] = (NOW + timedelta(seconds=created)).isoformat()
    since = (NOW - timedelta(hours=hours)).isoformat()
    admitted = {"type": "Admitted", "status": "False", "reason": "Pending"}
    conditions = [{**admitted, "lastTransitionTime": since}]
    return read(job, QueuedTrainingJob, conditions=conditions, reason="Pending")


def test_jobs_of_a_queue_stand_in_the_order_in_which_plans_try_them() -> None:
    soon = (NOW + timedelta(minutes=30)).isoformat()
    urgent = PriorityClass(
        metadata=read({"metadata": {"name": "high"}}, KubeObject).metadata, value=9
    )
    queue = read({"metadata": {"name": "research"}}, JobQueue)
    found = known(
        queue,
        urgent,
        waits("younger", created=5),
        waits("older", created=1),
        waits("patient", hours=13, created=9),
        waits("late", created=9, work={"amount": 100_000, "deadline": soon}),
        waits("high", created=9, priorityClassName="high"),
        waits("suspended", suspend=True),
    )
    order = queue_order("research", found, NOW).waiting
    names = [each.job.rpartition("/")[2] for each in order]
    assert names == ["high", "late", "patient", "older", "younger"]


def test_a_job_that_plans_cannot_read_keeps_its_place_among_the_others() -> None:
    queue = read({"metadata": {"name": "research"}}, JobQueue)
    odd = waits("odd", work={"amount": "many", "deadline": NOW.isoformat()})
    order = queue_order("research", known(queue, odd, waits("next", created=1)), NOW).waiting
    assert [each.job for each in order] == ["TrainingJob/team/odd", "TrainingJob/team/next"]


def test_a_queue_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NothingFound) as refused:
        queue_order("x", known(read({"metadata": {"name": "research"}}, JobQueue)), NOW)
    assert refused.value.problems == ("x: no such queue: use one of research",)


def test_a_queue_that_only_jobs_name_is_shown_beside_the_others() -> None:
    serving = read({"metadata": {"name": "serving"}}, JobQueue)
    shown = queues(known(serving, placed()), NOW).queues
    assert [(each.name, each.admitted) for each in shown] == [("research", 1), ("serving", 0)]
    order = queue_order("research", known(serving, waits("train")), NOW)
    assert order.queue is None
    assert [each.job for each in order.waiting] == ["TrainingJob/team/train"]


def test_a_job_that_is_over_has_no_place_though_its_status_says_where_it_was() -> None:
    over = placed(conditions=[{"type": "Complete", "status": "True"}])
    for jobs, places, used in (((over,), 0, ()), ((placed(),), 1, (4.0,))):
        found = status(known(*jobs), NOW)
        assert found.running == places
        [queue] = found.queues
        assert queue.admitted == places
        assert tuple(share.used for share in queue.shares) == used


def test_who_may_read_nothing_is_told_so() -> None:
    with pytest.raises(UnusableCluster):
        known(hidden=KINDS).require_something()
    known(hidden=KINDS[1:]).require_something()


def test_problems_are_conditions_that_are_not_as_they_should_be() -> None:
    at = NOW.isoformat()
    said = [
        {"type": "Ready", "status": "False", "reason": "NoEligibleNode", "message": "none"},
        {"type": "Accepted", "status": "True", "reason": "Planned"},
    ]
    conditions = [{**each, "lastTransitionTime": at} for each in said]
    bought = {"ordered": ["h100-x"], "failures": 2}
    pool = read(a_pool("p", {}), GPUPool, conditions=conditions, provisioning=bought)
    degraded = {"type": "Degraded", "status": "True", "reason": "ReplicasMissing"}
    job = placed(conditions=[{**degraded, "lastTransitionTime": at}])
    found = status(known(pool, job), NOW)
    assert [(each.subject, each.reason) for each in found.problems] == [
        ("GPUPool/p", "NoEligibleNode"),
        ("GPUPool/p", "NodeNotToBeHad"),
        ("TrainingJob/team/runs", "ReplicasMissing"),
    ]
    assert [(each.pool, each.orders) for each in found.ordered_nodes] == [("p", ("h100-x",))]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("H100", [True, False]),
        ("nvidia-h100", [True, False]),
        (H100, [True, False]),
        ("NVIDIA", [True, True]),
        ("H10", [False, False]),
        ("100", [False, False]),
        ("l4", [False, True]),
        ("", [False, False]),
    ],
)
def test_words_of_its_name_stand_for_a_gpu_type(words: str, names: list[bool]) -> None:
    assert [names_type(words, each) for each in (H100, L4)] == names
