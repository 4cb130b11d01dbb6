"""A job that is a single pod has its place told by that pod, until there is more to say."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.jobs.gangs.first_place import UNTOLD
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.observe.labels import GENERATION, PLACED_AT
from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Action, Admit
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, at, objects_of, seen
from support.objects.job_manifests import a_pool, a_training_job

NAME = JobName(f"TrainingJob/{NAMESPACE}/train")
NODE = fake_node("node", gpus=4)


def admitted(workers: int = 1) -> Admit:
    places = [
        Assignment(RoleName("worker"), number, GpuType(H100), (NodeName("node"),))
        for number in range(workers)
    ]
    return Admit(NAME, tuple(places), Reason.ADMITTED, "placed: here")


def steps_of(snapshot: Snapshot, decided: Action | None = None) -> list[Step]:
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    return list(Steps().of(Turn(snapshot, Occupancy(snapshot), decided=actions), set()))


def first_step(*manifests: Manifest, workers: int = 1) -> Step:
    (step,) = steps_of(seen(NODE, *manifests), admitted(workers))
    return step


def the_pod(step: Step, **status: Any) -> Manifest:  # noqa: ANN401 - fields of a pod's status
    """The pod that a step makes, as the API server then has it."""
    (pod,) = step.create
    meta = {**pod["metadata"], "creationTimestamp": NOW.isoformat()}
    return {**pod, "metadata": meta, "status": {"phase": "Pending", **status}}


def ready() -> Manifest:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize("others", [(), (a_pool("pool", {"nvidia.com/gpu.product": H100}),)])
def test_whoever_sees_the_pod_sees_the_place_that_was_decided(others: tuple[Manifest]) -> None:
    job = a_training_job("train")
    step = first_step(job, *others)
    assert step.told_by_pod
    (view,) = seen(NODE, job, *others, the_pod(step)).jobs
    told = view.resource.status
    assert (told.placement, told.revision) == (step.status.placement, step.status.revision)
    assert told.admitted_time == step.status.admitted_time
    assert view.told_by_pod
    assert view.status_written.placement is None


def test_the_place_is_told_while_its_node_is_there() -> None:
    job, other = a_training_job("train"), fake_node("other", gpus=4)
    objects = objects_of(NODE, other, job, the_pod(first_step(job)))
    node, another = objects.nodes
    observer = Observer()
    for nodes, is_told in (([another], False), ([node, another], True), ([another], False)):
        now = replace(objects, nodes=nodes)
        (view,) = observer.snapshot(now, NOW).jobs
        assert (view.resource.status.placement is not None) is is_told
        assert observer.snapshot(now, NOW) == Observer().snapshot(now, NOW)


def test_nothing_is_written_until_the_pod_runs() -> None:
    job = a_training_job("train")
    pod = the_pod(first_step(job))
    assert not steps_of(seen(NODE, job, pod))
    (step,) = steps_of(seen(NODE, job, {**pod, "status": ready()}))
    status = step.status
    said = {each.type: (each.status, each.reason) for each in status.conditions}
    assert said == {"Admitted": ("True", "Admitted"), "Running": ("True", "Running")}
    assert (status.reason, status.placement) == ("Running", first_step(job).status.placement)


def test_of_a_pod_that_takes_long_to_start_the_place_is_written() -> None:
    job = a_training_job("train")
    pod = the_pod(first_step(job))
    (step,) = steps_of(seen(NODE, job, pod, now=NOW + UNTOLD))
    assert step.has_writes
    written = {**job, "status": step.status.wire()}
    assert step.status.reason == "Admitted"
    assert step.status.message == f"placed: {H100} on node"
    after = seen(NODE, written, pod, now=NOW + UNTOLD)
    assert not after.jobs[0].told_by_pod
    assert not any(each.has_writes for each in steps_of(after))


def test_the_place_of_what_was_said_something_of_is_written_first() -> None:
    waited = {"observedGeneration": 1, "reason": "InsufficientGPUs"}
    assert not first_step({**a_training_job("train"), "status": waited}).told_by_pod


def test_the_place_of_a_gang_is_written_first() -> None:
    assert not first_step(a_training_job("train", workers=2), workers=2).told_by_pod


def test_a_place_with_more_than_a_pod_can_tell_is_written_first() -> None:
    batch = {"size": 64}
    assert not first_step(a_training_job("train", batch=batch)).told_by_pod


def test_a_pod_without_our_labels_tells_no_place() -> None:
    job = a_training_job("train")
    for missing in (GENERATION, PLACED_AT):
        pod = the_pod(first_step(job))
        del pod["metadata"]["labels"][missing]
        (view,) = seen(NODE, job, pod).jobs
        assert view.resource.status.placement is None


@pytest.mark.parametrize("when", ["-1", "99999999999999999999", "soon"])
def test_a_time_beyond_all_times_tells_no_place(when: str) -> None:
    job = a_training_job("train")
    pod = the_pod(first_step(job))
    pod["metadata"]["labels"][PLACED_AT] = when
    (view,) = seen(NODE, job, pod).jobs
    assert view.resource.status.placement is None


def test_a_pod_whose_node_is_gone_tells_no_place_and_is_not_taken_for_that_of_the_next() -> None:
    job = a_training_job("train")
    pod = the_pod(first_step(job))
    elsewhere = fake_node("other", gpus=4)
    snapshot = seen(elsewhere, job, pod)
    assert snapshot.jobs[0].resource.status.placement is None
    place = Assignment(RoleName("worker"), 0, GpuType(H100), (NodeName("other"),))
    (step,) = steps_of(snapshot, Admit(NAME, (place,), Reason.ADMITTED, "placed: there"))
    assert [pod.name for pod in step.delete] == ["train-worker-0"]
    assert step.status.revision == 2
    assert not step.told_by_pod


def test_what_was_placed_before_is_not_told_by_a_pod() -> None:
    job = at(a_training_job("train"), "node")
    pod = the_pod(first_step(a_training_job("train")))
    (view,) = seen(NODE, job, pod).jobs
    assert not view.told_by_pod


def test_a_job_that_is_suspended_meanwhile_gives_up_the_place_that_its_pod_tells() -> None:
    job = a_training_job("train")
    pod = the_pod(first_step(job))
    job["spec"]["suspend"] = True
    (step,) = steps_of(seen(NODE, job, pod, now=NOW + timedelta(seconds=1)))
    assert [pod.name for pod in step.delete] == ["train-worker-0"]
    assert step.status.placement is None
    assert step.status.revision == 1
