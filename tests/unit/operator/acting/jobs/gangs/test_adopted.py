"""The step of a job that stands for a Job: held, resumed, its pods sent, and what it reports."""

from typing import Any

import pytest

from plimsoll.acting.step import Step
from plimsoll.api.model import wire_of
from plimsoll.api.parts.conditions import is_true
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Admit, Hold, Preempt, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.adopted_jobs import a_pod_of_job, a_stand_in, seen_job
from support.clusters.adopted_steps import sent, status_of, stepped, writes
from support.clusters.seen import NAMESPACE
from support.objects.batch_jobs import GATE, a_batch_job
from support.objects.job_manifests import a_gpu_pod
from support.objects.manifests import edited

NAME = JobName(f"TrainingJob/{NAMESPACE}/job-train")
SUSPENDED = [{"type": "Suspended", "status": "True"}]
RUNS: Manifest = {"suspend": False}


def a_job(spec: Manifest | None = None, **status: Any) -> Manifest:  # noqa: ANN401 - a status
    job = a_batch_job(workers=2)
    job["spec"] |= spec or {}
    return seen_job(job, **status)


def placed_on(*nodes: str) -> tuple[Assignment, ...]:
    role, kind = RoleName("worker"), GpuType(H100)
    return tuple(Assignment(role, n, kind, (NodeName(node),)) for n, node in enumerate(nodes))


def touches_no_pod(step: Step) -> bool:
    return not any((step.create, step.delete, step.service))


def test_a_job_that_gets_a_place_is_resumed_once_it_is_at_rest() -> None:
    admit = Admit(NAME, placed_on("a", "b"), Reason.ADMITTED, "placed")
    step = stepped(a_job(conditions=SUSPENDED), a_stand_in(a_batch_job()), decided=admit)
    assert (writes(step).suspend, writes(step).size) == (False, None)
    assert status_of(step).placement is not None
    assert touches_no_pod(step)
    restless = a_job(active=2)
    assert stepped(restless, a_stand_in(a_batch_job()), decided=admit).workload is None


def test_a_job_is_not_resumed_while_others_are_still_in_its_place() -> None:
    job, stand_in = a_job(conditions=SUSPENDED), a_stand_in(a_batch_job(), "a", "a")
    step = stepped(job, stand_in, a_gpu_pod("other", "a", gpus=3))
    assert (step.workload, step.waits) == (None, True)
    assert not is_true(step.status.conditions, "Running")
    waits = a_stand_in(a_batch_job(), "a", "a", **reported(step))
    resumed = stepped(job, waits)
    assert writes(resumed).suspend is False
    assert resumed.status.reason == Reason.STARTING


def test_a_job_is_not_resumed_before_its_old_pods_are_gone() -> None:
    job, stand_in = a_job(conditions=SUSPENDED), a_stand_in(a_batch_job(), "a", "b")
    assert stepped(job, stand_in, a_pod_of_job(0, "a", revision=0)).workload is None
    ended = a_pod_of_job(0, "a", revision=0, phase="Failed")
    assert writes(stepped(job, stand_in, ended)).suspend is False


def test_an_elastic_job_is_resumed_with_as_many_pods_as_it_has_places() -> None:
    annotations = {"workers.min": "1", "workers.max": "4"}
    elastic = a_batch_job(workers=1, annotations=annotations)
    job = seen_job(elastic, conditions=SUSPENDED)
    assert writes(stepped(job, a_stand_in(elastic, "a", "a", "b"))).size == 3
    elastic["spec"]["suspend"] = False
    changed = stepped(seen_job(elastic), a_stand_in(elastic, "a", "a", "b"))
    assert (writes(changed).suspend, writes(changed).size) == (None, 3)


def test_a_gang_is_sent_to_its_nodes_only_when_all_its_pods_are_there_and_fit() -> None:
    job, stand_in = a_job(RUNS), a_stand_in(a_batch_job(), "a", "b")
    first, second = a_pod_of_job(0), a_pod_of_job(1)
    assert stepped(job, stand_in, first).workload is None
    step = stepped(job, stand_in, first, second)
    assert sent(step) == [("train-0", "a", "0"), ("train-1", "b", "1")]
    labels = writes(step).placed[0].labels
    assert labels["plimsoll.dev/job-uid"] == "uid-TrainingJob-job-train"
    assert labels["plimsoll.dev/revision"] == "1"
    full = stepped(job, stand_in, first, second, a_gpu_pod("other", "b", gpus=4))
    assert (full.workload, full.waits) == (None, True)


def test_a_gang_of_which_a_part_was_sent_is_completed() -> None:
    job, stand_in = a_job(RUNS), a_stand_in(a_batch_job(), "a", "b")
    step = stepped(job, stand_in, a_pod_of_job(0, "a"), a_pod_of_job(1))
    assert sent(step) == [("train-1", "b", "1")]


def test_a_pod_that_replaces_another_goes_where_that_was() -> None:
    started = {"startedTime": "2026-11-21T11:00:00Z"}
    job, stand_in = a_job(RUNS, failed=1), a_stand_in(a_batch_job(), "a", "b", **started)
    failed = a_pod_of_job(1, "b", phase="Failed", name="train-1-old")
    step = stepped(job, stand_in, a_pod_of_job(0, "a"), failed, a_pod_of_job(1))
    assert sent(step) == [("train-1", "b", "1")]
    assert status_of(step).restarts == 1


def ended(reason: str, message: str) -> Manifest:
    """The status of a pod whose container ended so."""
    end = {"exitCode": 128, "reason": reason, "message": message}
    return {"containerStatuses": [{"name": "main", "state": {"terminated": end}}]}


def failed_pod(number: int, node: str, revision: int = 1) -> Manifest:
    pod = a_pod_of_job(number, node, revision=revision, phase="Failed", name=f"old-{number}")
    return edited(pod, {"status": {**pod["status"], **ended("StartError", "no python in $PATH")}})


def reported(step: Step) -> Manifest:
    """What a step writes as the job's conditions, and that it has started if it has."""
    wire = wire_of(status_of(step))
    return {
        key: wire[key] for key in ("conditions", "reason", "message", "startedTime") & wire.keys()
    }


@pytest.mark.parametrize("started", [{}, {"startedTime": "2026-11-21T11:00:00Z"}])
def test_it_is_said_once_that_a_pod_failed_until_all_run_again(started: Manifest) -> None:
    job, stand_in = a_job(RUNS, failed=1), a_stand_in(a_batch_job(), "a", "b", **started)
    first, failed = a_pod_of_job(0, "a"), failed_pod(1, "b")
    step = stepped(job, stand_in, first, failed)
    assert step.status.reason == "Restarting"
    assert step.status.message == (
        "old-1 on b failed with exit code 128 (StartError: no python in $PATH); Job train retries"
        " within its limits"
    )
    assert [event.reason for event in step.events] == [Reason.RESTARTING]
    said = a_stand_in(a_batch_job(), "a", "b", **reported(step))
    again = stepped(job, said, first, failed)
    assert (again.status.reason, again.events) == ("Restarting", ())
    first["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    again = stepped(job, said, first, failed)
    assert again.status.reason == "Restarting", "not that the first is not ready"
    first = a_pod_of_job(0, "a")
    well = stepped(job, said, first, failed, a_pod_of_job(1, "b"))
    assert is_true(well.status.conditions, "Running")


def test_what_a_container_says_itself_is_not_repeated_and_nothing_moves_a_terminal() -> None:
    job, stand_in = a_job(RUNS, failed=1), a_stand_in(a_batch_job(), "a", "b")
    told = {
        "Error": "exit code 128 (Error);",
        "StartError": "(StartError: no ?[31mred\u00e9 file);",
    }
    for reason, words in told.items():
        pod = a_pod_of_job(1, "b", phase="Failed")
        status = {**pod["status"], **ended(reason, "no \x1b[31mred\u00e9\n file")}
        step = stepped(job, stand_in, a_pod_of_job(0, "a"), edited(pod, {"status": status}))
        assert words in step.status.message


def test_what_failed_in_an_older_place_says_nothing_of_the_present_one() -> None:
    job, stand_in = a_job(RUNS, failed=1), a_stand_in(a_batch_job(), "a", "b")
    step = stepped(job, stand_in, a_pod_of_job(0, "a"), failed_pod(1, "b", revision=0))
    assert step.status.reason != "Restarting"


def test_a_gang_whose_pods_are_never_made_gives_up_its_place() -> None:
    stand_in = a_stand_in(a_batch_job(), "a", "b")
    recently = a_job(RUNS, startTime="2026-11-21T11:58:00Z")
    step = stepped(recently, stand_in, a_pod_of_job(0))
    assert status_of(step).placement is not None
    assert step.rests_until is not None
    late = stepped(a_job(RUNS, startTime="2026-11-21T10:00:00Z"), stand_in, a_pod_of_job(0))
    assert status_of(late).placement is None
    assert late.status.reason == "PodsReadyTimeout"
    assert "Job train has made 1 of 2 pods in time" in late.status.message
    assert writes(late).suspend is True


def test_only_as_many_pods_are_awaited_as_are_left_to_do() -> None:
    queue = a_batch_job(workers=2, completions=5, completionMode="NonIndexed")
    queue["spec"]["suspend"] = False
    job, stand_in = seen_job(queue, succeeded=4), a_stand_in(queue, "a", "b")
    assert sent(stepped(job, stand_in, a_pod_of_job(7))) == [("train-7", "a", "0")]


def test_pods_of_an_older_place_have_the_job_suspended() -> None:
    job, stand_in = a_job(RUNS), a_stand_in(a_batch_job(), "a", "b")
    old = [a_pod_of_job(n, "a", revision=0) for n in range(2)]
    step = stepped(job, stand_in, *old)
    assert writes(step).suspend is True
    assert not step.delete


@pytest.mark.parametrize(
    "labels", [{}, {"plimsoll.dev/job-uid": "another", "plimsoll.dev/revision": "1"}]
)
def test_a_pod_that_we_did_not_send_has_the_job_suspended(labels: dict[str, str]) -> None:
    stray = a_pod_of_job(0, "a", labels=labels)
    step = stepped(a_job(RUNS), a_stand_in(a_batch_job(), "a", "b"), stray)
    assert writes(step).suspend is True


def test_all_that_would_delete_pods_suspends_the_job_instead() -> None:
    pods = [a_pod_of_job(0, "a"), a_pod_of_job(1, "b")]
    job, stand_in = a_job(RUNS), a_stand_in(a_batch_job(), "a", "b")
    preempt = Preempt(NAME, Reason.PREEMPTED, "for another")
    resize = Resize(NAME, placed_on("a"), Reason.RESIZED, "smaller")
    hold = Hold(NAME, Reason.INSUFFICIENT_GPUS, "no room")
    for action in (preempt, resize, hold):
        step = stepped(job, stand_in, *pods, decided=action)
        assert writes(step).suspend is True, action
        assert touches_no_pod(step), action
    held = a_stand_in(a_batch_job())
    held["spec"]["suspend"] = True
    assert writes(stepped(job, held, *pods)).suspend is True


def test_a_gang_that_kube_scheduler_refuses_is_suspended_and_planned_elsewhere() -> None:
    pod = a_pod_of_job(0, "a", bound=False, creationTimestamp="2026-11-21T10:00:00Z")
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}
    pod["status"]["conditions"] = [why]
    job, stand_in = a_job(RUNS), a_stand_in(a_batch_job(), "a", "b")
    step = stepped(job, stand_in, pod, a_pod_of_job(1, "b"))
    assert writes(step).suspend is True
    assert status_of(step).placement is None
    assert [each.node for each in status_of(step).avoided_nodes] == ["a"]


def test_a_gang_runs_when_all_its_pods_are_ready() -> None:
    job, stand_in = a_job(RUNS), a_stand_in(a_batch_job(), "a", "b")
    step = stepped(job, stand_in, a_pod_of_job(0, "a"), a_pod_of_job(1, "b"))
    assert is_true(step.status.conditions, "Running")
    assert step.workload is None
    starting = stepped(job, stand_in, a_pod_of_job(0, "a"), a_pod_of_job(1, "b", bound=False))
    assert not is_true(starting.status.conditions, "Running")


@pytest.mark.parametrize(("kind", "reason"), [("Complete", "Completed"), ("Failed", "Failed")])
@pytest.mark.parametrize("nodes", [(), ("a", "b")])
def test_a_job_ends_with_its_workload_whether_it_has_a_place_or_not(
    kind: str, reason: str, nodes: tuple[str, ...]
) -> None:
    ended = a_job(RUNS, conditions=[{"type": kind, "status": "True", "reason": "Because"}])
    step = stepped(ended, a_stand_in(a_batch_job(), *nodes), a_pod_of_job(0, "a"))
    assert (step.status.reason, is_true(step.status.conditions, kind)) == (reason, True)
    assert step.workload is None
    over = a_stand_in(a_batch_job(), *nodes, conditions=wire(step)["conditions"])
    assert stepped(ended, over, a_pod_of_job(0, "a")).is_idle


def wire(step: Step) -> Manifest:
    return status_of(step).wire()


def test_a_job_whose_workload_is_not_there_writes_nothing_to_it() -> None:
    step = stepped(a_stand_in(a_batch_job(), "a", "b"))
    assert step.workload is None
    assert touches_no_pod(step)


def test_a_job_that_has_been_resumed_by_somebody_else_is_suspended_again() -> None:
    hold = Hold(NAME, Reason.INSUFFICIENT_GPUS, "no room")
    step = stepped(a_job(RUNS), a_stand_in(a_batch_job()), a_pod_of_job(0), decided=hold)
    assert writes(step).suspend is True


def test_the_gate_is_the_one_that_targets_have() -> None:
    assert a_pod_of_job(0)["spec"]["schedulingGates"] == [{"name": GATE}]
