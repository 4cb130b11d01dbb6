"""A gang has no place while one of its workers may still run where nobody can see it."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from plimsoll.planning.actions import Hold
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import a_training_job, an_inference_job

NAME = "TrainingJob/team/train"


def cut_off(minutes: int = 6, *, taints: Iterable[str] = ()) -> Manifest:
    """A node that has not answered for so long."""
    node = fake_node("away", gpus=4)
    since = (NOW - timedelta(minutes=minutes)).isoformat()
    said = {"type": "Ready", "status": "Unknown", "lastTransitionTime": since}
    node["spec"] = {"taints": [{"key": key, "effect": "NoExecute"} for key in taints]}
    node["status"]["conditions"] = [said]
    return node


def a_gang() -> tuple[Manifest, ...]:
    """A gang with one worker on each of two nodes."""
    job = at(a_training_job("train", workers=2), "away", "here")
    return (job, *pods_of(job))


def held_and_planned(*manifests: Manifest) -> tuple[tuple[Hold, ...], list[str]]:
    """Who is held, and who is planned."""
    found = plan_input_of(seen(fake_node("here", gpus=4), *manifests), ProblemBuilder())
    return found.holds, [job.name for job in found.problem.jobs]


def test_a_gang_with_a_worker_on_a_node_that_is_cut_off_has_no_place() -> None:
    (hold,), planned = held_and_planned(cut_off(), *a_gang())
    assert (hold.reason, planned) == (Reason.NODE_UNREACHABLE, [])
    assert hold.message.startswith(
        "train-worker-0 may still run on away, which does not answer, and write checkpoints"
    )


def test_it_waits_on_after_it_has_lost_its_place_as_long_as_the_worker_may_run() -> None:
    job, *pods = a_gang()
    waiting = {**job, "status": {"revision": 1}}
    for pod in pods:
        pod["metadata"]["deletionTimestamp"] = NOW.isoformat()
    holds, planned = held_and_planned(cut_off(), waiting, *pods)
    assert ([hold.reason for hold in holds], planned) == ([Reason.NODE_UNREACHABLE], [])
    assert held_and_planned(cut_off(), waiting, pods[1]) == ((), [NAME]), "it is known to be gone"


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param([cut_off(4)], id="most such nodes come back"),
        pytest.param([cut_off(taints=["node.kubernetes.io/out-of-service"])], id="out of service"),
        pytest.param([fake_node("away", gpus=4)], id="it answers again"),
        pytest.param([], id="its Node is deleted"),
    ],
)
def test_it_is_planned_where_the_node_is_back_or_known_to_be_gone(cluster: list[Manifest]) -> None:
    assert held_and_planned(*cluster, *a_gang()) == ((), [NAME])


def test_a_service_has_other_replicas_elsewhere_at_once() -> None:
    job = at(an_inference_job("serve"), "away")
    assert held_and_planned(cut_off(), job, *pods_of(job)) == ((), ["InferenceJob/team/serve"])
