"""Pods that wait behind our gate are sent to nodes, and keep what else they have."""

from plimsoll.acting.step import SentPod
from plimsoll.acting.writes.gated_pods import sent_to
from plimsoll.observe.snapshot import PodView
from support.clusters.adopted_jobs import a_pod_of_job, a_stand_in, seen_job
from support.clusters.seen import NOW, seen
from support.objects.batch_jobs import GATE, a_batch_job


def a_waiting_pod() -> PodView:
    snapshot = seen(seen_job(a_batch_job()), a_stand_in(a_batch_job()), a_pod_of_job(0))
    (pod,) = snapshot.jobs[0].pods
    return pod


def test_a_pod_that_is_sent_to_a_node_keeps_its_other_wishes_and_gates() -> None:
    wish = {"key": "zone", "operator": "In", "values": ["z"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wish]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    spec = {
        "affinity": affinity,
        "tolerations": [{"key": "mine"}],
        "schedulingGates": [{"name": "other"}, {"name": GATE}],
    }
    pod = {"metadata": {"resourceVersion": "7", "uid": "u"}, "spec": spec}
    patch = sent_to(pod, SentPod(a_waiting_pod(), "node", {"mine": "yes"}), NOW)
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    (term,) = patch["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
    here = {"key": "metadata.name", "operator": "In", "values": ["node"]}
    assert term == {"matchExpressions": [wish], "matchFields": [here]}
    assert patch["spec"]["schedulingGates"] == [{"name": "other"}]
    assert {"key": "mine"} in patch["spec"]["tolerations"]
    assert patch["metadata"]["resourceVersion"] == "7"
    assert patch["metadata"]["labels"]["mine"] == "yes"
