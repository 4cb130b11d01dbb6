from datetime import timedelta

import pytest

from plimsoll.errors import InvalidQuantity
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.faults import LONGEST_PAUSE, SHORTEST_PAUSE, Faults, Stage, fault_text
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import a_training_job
from support.problems.builders import H100


def cluster(*manifests: Manifest, after: timedelta = timedelta()) -> Snapshot:
    return seen(fake_node("node", gpus=8), *manifests, now=NOW + after)


def a_running_job(name: str, *nodes: str) -> list[Manifest]:
    """A job with its pods, which ask for a GPU each."""
    job = at(a_training_job(name), *nodes)
    pods = pods_of(job)
    for pod in pods:
        resources = {"limits": {"nvidia.com/gpu": "1"}}
        pod["spec"]["containers"] = [{"name": "main", "resources": resources}]
    return [job, *pods]


def view_of(snapshot: Snapshot, name: str) -> JobView:
    return next(job for job in snapshot.jobs if job.resource.metadata.name == name)


def faulty(faults: Faults, snapshot: Snapshot, name: str = "bad") -> None:
    with faults.guard(snapshot.now)(view_of(snapshot, name)):
        raise ZeroDivisionError("division by zero")


def test_what_is_raised_for_one_job_sets_it_aside() -> None:
    faults, snapshot = Faults(), cluster(a_training_job("bad"), a_training_job("good"))
    faulty(faults, snapshot)
    standing = faults.standing(snapshot)
    assert standing.aside == {"TrainingJob/team/bad"}
    [fault] = standing.reported.values()
    assert "ZeroDivisionError: division by zero" in fault.message
    assert "change the spec" in fault.message


def test_another_spec_is_tried_at_once() -> None:
    faults, snapshot = Faults(), cluster(a_training_job("bad"))
    faulty(faults, snapshot)
    edited = a_training_job("bad")
    edited["metadata"]["generation"] = 2
    assert not faults.standing(cluster(edited)).aside


def test_the_same_spec_is_tried_again_after_a_pause_that_doubles() -> None:
    faults, passed = Faults(), timedelta()
    for times in range(12):
        snapshot = cluster(a_training_job("bad"), after=passed)
        assert not faults.standing(snapshot).aside
        faulty(faults, snapshot)
        pause = min(SHORTEST_PAUSE * 2**times, LONGEST_PAUSE)
        just_before = cluster(a_training_job("bad"), after=passed + pause - timedelta(seconds=1))
        assert faults.standing(just_before).aside
        passed += pause


def test_a_job_that_is_gone_is_forgotten() -> None:
    faults = Faults()
    faulty(faults, cluster(a_training_job("bad")))
    assert not faults.standing(cluster()).aside
    assert not faults.standing(cluster(a_training_job("bad"))).aside


def test_errors_of_ours_are_reported_in_their_own_words() -> None:
    assert fault_text(InvalidQuantity("'much' is not a quantity")) == "'much' is not a quantity"


def test_what_pods_of_a_job_hold_stays_taken_while_it_is_set_aside() -> None:
    snapshot = cluster(*a_running_job("bad", "node", "node"), a_training_job("good"))
    rest = Faults().without(snapshot, {view_of(snapshot, "bad").name})
    [whole], [left] = snapshot.nodes, rest.nodes
    assert [view.resource.metadata.name for view in rest.jobs] == ["good"]
    assert left.unmanaged_units == {"nvidia.com/gpu": 2}
    assert (whole.pod_slots - left.pod_slots, whole.unmanaged_units) == (2, {})


def test_a_node_stays_the_same_object_while_the_same_is_held() -> None:
    snapshot = cluster(*a_running_job("bad", "node"))
    faults, names = Faults(), {view_of(snapshot, "bad").name}
    first, second = faults.without(snapshot, names), faults.without(snapshot, names)
    assert first.nodes[0] is second.nodes[0]


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_is_kept_with_the_fault(stage: Stage) -> None:
    faults, snapshot = Faults(), cluster(a_training_job("bad"))
    with faults.guard(snapshot.now, stage)(view_of(snapshot, "bad")):
        raise KeyError(H100)
    [fault] = faults.standing(snapshot).reported.values()
    assert fault.stage is stage
