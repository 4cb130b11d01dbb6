"""When a pod is removed by force that nobody ends: a worker only where it surely writes no more."""

from datetime import timedelta

import pytest

from plimsoll.acting.jobs.ending import LATE, UNNOTICED, given_up_at, to_delete
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Turn
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import a_policy, a_training_job, an_inference_job

TRAIN = at(a_training_job("train"), "node")
SERVE = at(an_inference_job("serve"), "node")
QUARANTINED = "plimsoll.dev/quarantine"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
SHUT_DOWN = "node.cloudprovider.kubernetes.io/shutdown"
FENCED = a_policy(unreachableNodes={"forceDeleteAfter": "2m"})


def a_node(*taints: str, silent_minutes: int | None = None) -> Manifest:
    """A node with these taints; one that is silent has not answered for so long."""
    node = fake_node("node", gpus=4)
    node["spec"] = {"taints": [{"key": key, "effect": "NoExecute"} for key in taints]}
    if silent_minutes is not None:
        since = (NOW - timedelta(minutes=silent_minutes)).isoformat()
        said = {"type": "Ready", "status": "Unknown", "lastTransitionTime": since}
        node["status"]["conditions"] = [said]
    else:
        node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return node


def patience(job: Manifest, *cluster: Manifest) -> timedelta | None:
    """How long after its time the job's pod is removed by force; None: never."""
    (pod,) = pods_of(job)
    pod["metadata"]["deletionTimestamp"] = NOW.isoformat()
    snapshot = seen(*cluster, job, pod)
    (view,) = snapshot.jobs
    turn = Turn(snapshot, Occupancy(snapshot))
    found = given_up_at(view, view.pods, turn)
    assert to_delete(view, view.pods, turn) == ()
    if not found:
        later = seen(*cluster, job, pod, now=NOW + timedelta(days=7))
        assert to_delete(view, view.pods, Turn(later, Occupancy(later))) == ()
        return None
    later = seen(*cluster, job, pod, now=found[0])
    assert to_delete(view, view.pods, Turn(later, Occupancy(later))) == view.pods
    return found[0] - NOW


@pytest.mark.parametrize(
    ("job", "cluster", "seconds"),
    [
        pytest.param(TRAIN, [a_node()], None, id="its kubelet will end it"),
        pytest.param(TRAIN, [a_node(silent_minutes=4)], None, id="the node may come back"),
        pytest.param(TRAIN, [a_node(silent_minutes=6)], None, id="it may still write"),
        pytest.param(TRAIN, [a_node(silent_minutes=6), FENCED], 120, id="it is fenced off"),
        pytest.param(TRAIN, [a_node(OUT_OF_SERVICE, silent_minutes=6)], 10, id="out of service"),
        pytest.param(TRAIN, [a_node(SHUT_DOWN, silent_minutes=6)], 10, id="shut down"),
        pytest.param(TRAIN, [], 10, id="the node is gone"),
        pytest.param(TRAIN, [a_node(QUARANTINED)], 60, id="the kubelet has killed it"),
        pytest.param(TRAIN, [a_node(QUARANTINED, silent_minutes=0)], None, id="just cut off"),
        pytest.param(SERVE, [a_node()], None, id="a replica that its kubelet will end"),
        pytest.param(SERVE, [a_node(silent_minutes=6)], 10, id="a replica writes nothing"),
    ],
)
def test_a_worker_is_forgotten_only_where_it_surely_writes_no_more(
    job: Manifest, cluster: list[Manifest], seconds: int | None
) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert patience(job, *cluster) == expected


def test_a_node_is_said_to_be_cut_off_before_its_workers_are_forgotten() -> None:
    assert timedelta(seconds=50) < UNNOTICED
    assert LATE < UNNOTICED
