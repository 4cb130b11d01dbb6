"""Pods that wait behind our gate are sent to nodes, and keep what else they have."""

import copy

import msgspec
import pytest

from plimsoll.acting.step import SentPod
from plimsoll.acting.writes.gated_pods import sending, sent_to
from plimsoll.errors import Invalid
from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.snapshot import PodView
from plimsoll_devcluster.manifest import Manifest
from plimsoll_simulator.cluster.patches import merged, operated
from support.clusters.adopted_jobs import a_pod_of_job, a_stand_in, seen_job
from support.clusters.seen import NOW, seen
from support.objects.batch_jobs import GATE, a_batch_job

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
IN_ZONE = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
NOT_ON_B = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["b"]}]}
ELSEWHERE = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "kubernetes.io/hostname"}]}}
OURS = {"plimsoll.dev/job-uid": "u", "plimsoll.dev/with~tilde": "yes"}


def a_waiting_pod() -> PodView:
    snapshot = seen(seen_job(a_batch_job()), a_stand_in(a_batch_job()), a_pod_of_job(0))
    (pod,) = snapshot.jobs[0].pods
    return pod


def a_manifest(labels: dict[str, str] | None = None, **spec: object) -> Manifest:
    gates = [{"name": "other"}, {"name": GATE}]
    meta = {"name": "p", "resourceVersion": "7", "uid": "u"}
    return {
        "metadata": meta | ({"labels": labels} if labels else {}),
        "spec": {"schedulingGates": gates, **spec},
    }


def test_a_pod_that_is_sent_to_a_node_keeps_its_other_wishes_and_gates() -> None:
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [IN_ZONE]}}}
    pod = a_manifest(affinity=affinity, tolerations=[{"key": "mine"}])
    patch = sent_to(pod, SentPod(a_waiting_pod(), "node", {"mine": "yes"}), NOW)
    (term,) = patch["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    here = {"key": "metadata.name", "operator": "In", "values": ["node"]}
    assert term == {**IN_ZONE, "matchFields": [here]}
    assert patch["spec"]["schedulingGates"] == [{"name": "other"}]
    assert {"key": "mine"} in patch["spec"]["tolerations"]
    assert patch["metadata"]["resourceVersion"] == "7"
    assert patch["metadata"]["labels"]["mine"] == "yes"


@pytest.mark.parametrize(
    "pod",
    [
        a_manifest(),
        a_manifest({"app": "train"}),
        a_manifest(affinity=ELSEWHERE),
        a_manifest(affinity={"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": IN_ZONE}]}}),
        a_manifest(
            affinity={
                "nodeAffinity": {
                    REQUIRED: {"nodeSelectorTerms": [IN_ZONE, NOT_ON_B, {**IN_ZONE, **NOT_ON_B}]}
                },
                **ELSEWHERE,
            }
        ),
        a_manifest(tolerations=[{"key": "mine", "operator": "Exists", "tolerationSeconds": 3}]),
        a_manifest(
            tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        ),
    ],
)
def test_a_pod_is_sent_as_watched_as_it_would_be_as_read(pod: Manifest) -> None:
    sent, before = SentPod(a_waiting_pod(), "node", OURS), copy.deepcopy(pod)
    as_read = merged(pod, sent_to(pod, sent, NOW))
    assert operated(pod, sending(msgspec.convert(pod, Pod), sent, NOW)) == as_read
    assert pod == before


@pytest.mark.parametrize("changed", [{"resourceVersion": "8"}, {"uid": "another"}])
def test_a_pod_that_has_changed_is_not_sent_as_it_was_watched(changed: Manifest) -> None:
    pod = a_manifest()
    operations = sending(msgspec.convert(pod, Pod), SentPod(a_waiting_pod(), "node", OURS), NOW)
    with pytest.raises(Invalid):
        operated({**pod, "metadata": pod["metadata"] | changed}, operations)


def test_of_pods_only_those_behind_our_gate_are_kept_as_watched() -> None:
    assert a_waiting_pod().watched is not None
    bound = a_pod_of_job(0, "a")
    (pod,) = seen(seen_job(a_batch_job()), a_stand_in(a_batch_job()), bound).jobs[0].pods
    assert pod.watched is None
