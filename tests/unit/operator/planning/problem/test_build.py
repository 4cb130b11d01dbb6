from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.definition import API_VERSION
from plimsoll.planning.actions import Hold
from plimsoll.planning.disruption.backoff import REFUSAL_PAUSE
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, NOW, at, seen
from support.objects.job_manifests import (
    a_gpu_pod,
    a_pool,
    a_power_domain,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.objects.volumes import a_template_with_claims, a_volume

NONE_ADMITTED = (
    "needs 1 × NVIDIA-H100-80GB-HBM3; its selectors, affinity and tolerations admit none of the 2 "
    "nodes with these GPUs"
)
NODES = [fake_node("n-0", H100, 8), fake_node("n-1", H100, 8)]


def input_of(*manifests: Manifest, nodes: Iterable[Manifest] = NODES) -> PlanInput:
    return plan_input_of(seen(*nodes, *manifests), ProblemBuilder())


def the_hold(*manifests: Manifest, nodes: Iterable[Manifest] = NODES) -> Hold:
    found = input_of(*manifests, nodes=nodes)
    assert found.problem.jobs == ()
    assert len(found.holds) == 1
    return found.holds[0]


def names(found: PlanInput) -> list[str]:
    return [job.name.rpartition("/")[2] for job in found.problem.jobs]


def a_condition(kind: str, reason: str, *, status: str = "True", **fields: Any) -> Manifest:  # noqa: ANN401
    since = {"lastTransitionTime": NOW.isoformat(), "observedGeneration": 1}
    return {"type": kind, "status": status, "reason": reason, **since, **fields}


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
def test_a_job_that_has_ended_wants_no_place(kind: str) -> None:
    ended = {**a_training_job("ended"), "status": {"conditions": [a_condition(kind, "Why")]}}
    assert input_of(ended) == input_of()


def test_a_suspended_job_and_one_that_is_being_deleted_want_no_place() -> None:
    going = a_training_job("going")
    going["metadata"]["deletionTimestamp"] = NOW.isoformat()
    assert input_of(going, a_training_job("asleep", suspend=True)) == input_of()


def test_the_default_queue_need_not_be_there() -> None:
    problem = input_of(a_training_job("j")).problem
    assert [queue.name for queue in problem.queues] == ["default"]
    assert not problem.queues[0].limit


def test_a_queue_that_is_not_there_is_reported() -> None:
    hold = the_hold(a_training_job("j", queue="research"))
    assert (hold.reason, hold.inadmissible) == (Reason.QUEUE_NOT_FOUND, True)
    assert hold.message == "there is no JobQueue research: create it, or change spec.queue"


def test_whoever_labelled_a_workload_is_told_which_label_to_change() -> None:
    job = a_training_job("job-train", queue="research")
    job["spec"]["workloadRef"] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": "uid-Job-train",
        "gpuResource": "nvidia.com/gpu",
    }
    (view,) = seen(job).jobs
    assert view.refusal is not None
    assert view.refusal.message.endswith("create it, or change the label plimsoll.dev/queue")


def test_a_priority_class_that_is_not_there_is_reported() -> None:
    hold = the_hold(a_training_job("j", priorityClassName="high"))
    assert (hold.reason, hold.inadmissible) == (Reason.PRIORITY_CLASS_NOT_FOUND, True)
    assert hold.message == (
        "there is no PriorityClass high: create it, or change spec.priorityClassName"
    )


def test_what_runs_goes_on_when_its_queue_and_its_class_are_deleted() -> None:
    found = input_of(at(a_training_job("j", queue="gone", priorityClassName="gone"), "n-0"))
    assert (names(found), found.holds) == (["j"], ())
    assert [queue.name for queue in found.problem.queues] == ["gone"]
    assert not found.problem.jobs[0].pinned, "it gives way as before"


@pytest.mark.parametrize(
    ("ago", "generation", "waits"), [(59, 1, True), (61, 1, False), (1, 2, False)]
)
def test_a_job_whose_pods_would_not_start_waits_a_while_or_until_it_changes(
    ago: int, generation: int, *, waits: bool
) -> None:
    since = (NOW - timedelta(seconds=ago)).isoformat()
    refused = a_condition("Admitted", "PodRefused", status="False", message="exceeded quota")
    job = a_training_job("j")
    job["metadata"]["generation"] = generation
    job["status"] = {"conditions": [{**refused, "lastTransitionTime": since}]}
    holds = input_of(job).holds
    expected = (
        Hold(holds[0].job, Reason.POD_REFUSED, "exceeded quota", inadmissible=True)
        if waits
        else None
    )
    assert holds == ((expected,) if expected else ())


@pytest.mark.parametrize(
    ("job", "others", "reason", "message"),
    [
        (
            a_training_job("j", gpus=16),
            [],
            "CannotFit",
            "needs 16 × NVIDIA-H100-80GB-HBM3 on one node; the most on one node is 8",
        ),
        (
            a_training_job("j", workers=20),
            [],
            "CannotFit",
            "needs 20 × NVIDIA-H100-80GB-HBM3; the cluster has 16",
        ),
        (
            a_training_job("j", rates={A100: 1}),
            [],
            "CannotFit",
            "needs 1 × NVIDIA-A100-SXM4-80GB; the cluster has none",
        ),
        (
            a_training_job("j", gpus="0.5"),
            [],
            "CannotFit",
            (
                "needs 0.5 × NVIDIA-H100-80GB-HBM3 on one device; no node offers such fractions:"
                " have device plugins share GPUs"
            ),
        ),
        (
            a_training_job("j", gpus=8),
            [a_gpu_pod("other", "n-0", gpus=1), a_gpu_pod("another", "n-1", gpus=2)],
            "CannotFit",
            "needs 8 × NVIDIA-H100-80GB-HBM3 on one node; the most on one node is 7",
        ),
        (
            a_training_job("j", queue="small", gpus=4),
            [a_queue("small", limit=2)],
            "CannotFit",
            "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; queue small may still use 2",
        ),
        (
            a_training_job("j", gpus=4),
            [
                a_pool(
                    "p",
                    {"type": "kwok"},
                    power={"idleWatts": 0, "typicalWatts": 500, "limitWatts": 500},
                ),
                a_power_domain("row", {"type": "kwok"}, budget_watts=1500),
            ],
            "CannotFit",
            "needs 500 W more than power domain row has left (budget 1.5 kW)",
        ),
        (
            a_training_job("j", template=a_template(nodeSelector={"colour": "blue"})),
            [],
            "NoEligibleNode",
            NONE_ADMITTED,
        ),
    ],
    ids=["node", "cluster", "type", "fraction", "foreign", "queue", "power", "selector"],
)
def test_that_a_job_cannot_fit_is_explained_in_numbers(
    job: Manifest, others: list[Manifest], reason: str, message: str
) -> None:
    hold = the_hold(job, *others)
    assert (hold.reason, hold.inadmissible) == (reason, True)
    assert hold.message == message


def test_a_claim_that_binds_a_job_to_nodes_is_named() -> None:
    job = a_training_job("j", template=a_template_with_claims("data"))
    disk = a_volume("disk", NAMESPACE, "data", key="kubernetes.io/hostname", values=["gone"])
    storage = "only some nodes reach the storage of its claim data"
    assert the_hold(job, disk).message == f"{NONE_ADMITTED}; {storage}"


def test_nodes_that_a_job_avoids_for_now_are_named() -> None:
    until, over = (NOW + timedelta(minutes=5)).isoformat(), NOW.isoformat()
    avoided = [{"node": name, "until": until} for name in ("n-1", "n-0")]
    job = {**a_training_job("j"), "status": {"avoidedNodes": avoided}}
    assert the_hold(job).message == (
        f"{NONE_ADMITTED}; this leaves out n-0, n-1 until 12:05:00 UTC, since its pods were refused"
        " or did not start there"
    )
    picky = a_training_job("j", template=a_template(nodeSelector={"a": "b"}))
    picky["status"] = {"avoidedNodes": [{"node": "n-0", "until": over}]}
    assert the_hold(picky).message == NONE_ADMITTED


def leaving(pod: Manifest) -> Manifest:
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": NOW.isoformat()}}


def orphaned(pod: Manifest) -> Manifest:
    uid = "of-a-job-that-was-deleted"
    labels = {"plimsoll.dev/job-uid": uid}
    owner = {"apiVersion": API_VERSION, "kind": "TrainingJob", "name": "gone", "uid": uid}
    metadata = {**pod["metadata"], "labels": labels, "ownerReferences": [owner]}
    return {**pod, "metadata": metadata}


@pytest.mark.parametrize("going", [leaving, orphaned])
def test_what_is_on_its_way_out_makes_no_job_inadmissible(
    going: Callable[[Manifest], Manifest],
) -> None:
    pods = [a_gpu_pod(f"p-{index}", f"n-{index}", gpus=8, cpu="190") for index in range(2)]
    job = a_training_job("j", gpus=8, template=a_template({"cpu": "100"}))
    assert the_hold(job, *pods).reason == Reason.CANNOT_FIT
    assert names(input_of(job, *map(going, pods))) == ["j"]
    assert the_hold(job, pods[0], a_gpu_pod("q", "n-1", gpus=1), going(pods[1])).inadmissible


def test_power_that_is_on_its_way_out_makes_no_job_inadmissible() -> None:
    pool = a_pool(
        "p", {"type": "kwok"}, power={"idleWatts": 0, "typicalWatts": 500, "limitWatts": 500}
    )
    domain = a_power_domain("row", {"type": "kwok"}, budget_watts=1500)
    pod, job = a_gpu_pod("p", "n-0", gpus=2), a_training_job("j", gpus=2)
    assert the_hold(pool, domain, job, pod).reason == Reason.CANNOT_FIT
    assert names(input_of(pool, domain, job, leaving(pod))) == ["j"]


def test_a_job_that_only_has_to_wait_is_asked_about() -> None:
    full = at(a_training_job("full", workers=2, gpus=8), "n-0", "n-1")
    assert names(input_of(full, a_training_job("waits", gpus=8))) == ["full", "waits"]


def test_what_runs_is_asked_about_even_where_it_would_not_fit_again() -> None:
    running = at(a_training_job("running", gpus=8), "n-0")
    assert names(input_of(running, nodes=[fake_node("n-0", H100, 4)])) == ["running"]


@pytest.mark.parametrize(
    "template",
    [a_template({"cpu": "1E"}), a_template({"memory": "9E"}), a_template({"cpu": "1e30"})],
    ids=["cpu", "memory", "exponent"],
)
def test_that_an_absurd_request_cannot_fit_is_reported(template: Manifest) -> None:
    assert the_hold(a_training_job("j", template=template)).reason == Reason.CANNOT_FIT


def test_absurdly_many_gpus_cannot_fit() -> None:
    hold = the_hold(a_training_job("j", gpus="1e30", workers=4096))
    assert hold.reason == Reason.CANNOT_FIT
    assert hold.message.startswith("role worker asks for 4722366482869645213 GPUs at its largest")


def test_several_containers_that_each_ask_for_all_there_can_be_cannot_fit() -> None:
    resources = {"requests": {"memory": "8Ei", "cpu": "9E"}}
    many = [{"name": f"c-{n}", "image": "x", "resources": resources} for n in range(9)]
    hold = the_hold(a_training_job("j", template=a_template(containers=many)))
    assert hold.reason == Reason.CANNOT_FIT
    assert "nodes with such GPUs free have at most" in hold.message


def test_queues_have_their_shares_and_limits_for_the_types_that_are_asked_for() -> None:
    problem = input_of(
        a_queue("a", guaranteed=4, limit=6), a_queue("b", weight=2), a_training_job("j", queue="a")
    ).problem
    one, other = problem.queues
    assert (one.guaranteed, one.limit, one.fair) == ({H100: 4000}, {H100: 6000}, {H100: 16_000})
    assert (other.guaranteed, other.limit, other.fair) == ({}, {}, {})


def test_a_parent_is_asked_through_its_parts() -> None:
    problem = input_of(
        a_queue("above"), a_queue("part", parent="above"), a_training_job("j", queue="part")
    ).problem
    assert [(queue.name, queue.parent, queue.fair) for queue in problem.queues] == [
        ("above", None, {H100: 16_000}),
        ("part", "above", {H100: 16_000}),
    ]


def test_queues_in_a_circle_harm_nobody() -> None:
    circle = [a_queue("a", parent="b"), a_queue("b", parent="a")]
    assert names(input_of(*circle, a_training_job("j", queue="a"))) == ["j"]


def a_refused_service(*nodes: str, **fields: Any) -> Manifest:  # noqa: ANN401
    """A service of which more are wanted than it has, and would not start of late."""
    job = at(an_inference_job("serve", replicas=3), *nodes, refusals=1)
    job["status"]["conditions"] = [a_condition("AbleToScale", status="False", **fields)]
    return job


@pytest.mark.parametrize("reason", ["PodRefused", "PodsReadyTimeout"])
def test_a_service_whose_replicas_would_not_start_gets_no_others_for_a_while(reason: str) -> None:
    job = a_refused_service("n-0", "n-0", reason=reason)
    [kept] = input_of(job).problem.jobs
    assert (kept.roles[0].counts, kept.roles[0].eligible) == ((1, 2), 0b01)
    later = seen(*NODES, job, now=NOW + REFUSAL_PAUSE + timedelta(seconds=1))
    [again] = plan_input_of(later, ProblemBuilder()).problem.jobs
    assert (again.roles[0].counts, again.roles[0].eligible) == ((1, 2, 3), 0b11)
    job["metadata"]["generation"] = 2
    [changed] = input_of(job).problem.jobs
    assert changed.roles[0].counts == (1, 2, 3), "its spec has changed"


def test_what_would_not_start_keeps_no_place_from_others_that_go_first() -> None:
    job = a_refused_service("n-0", reason="PodsReadyTimeout")
    [kept] = input_of(job).problem.jobs
    assert not kept.pinned


def test_a_service_that_was_refused_replicas_still_leaves_a_node_that_is_lost() -> None:
    [asking] = input_of(a_refused_service("n-0", "gone", reason="PodRefused")).problem.jobs
    assert asking.roles[0].counts == (1, 2, 3)


def test_a_service_that_waits_is_not_held_by_a_refusal_of_before() -> None:
    job = an_inference_job("serve", replicas=3)
    conditions = [a_condition("AbleToScale", "PodRefused", status="False")]
    [asking] = input_of({**job, "status": {"conditions": conditions}}).problem.jobs
    assert asking.roles[0].counts == (1, 2, 3)
