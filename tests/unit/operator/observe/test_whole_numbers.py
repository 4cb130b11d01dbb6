from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.writes.targets import is_recent
from plimsoll.api.definition import GROUP
from plimsoll.observe.nodes.gpus import gpu_offers
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.targets.places import ordinal_of
from plimsoll.observe.whole_numbers import whole_number
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, a_reading, at, pods_of, seen
from support.clusters.target_lives import a_targeting_job, a_workload
from support.objects.job_manifests import an_inference_job
from support.objects.target_pods import a_target_pod

HOSTILE = (
    "",
    " ",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "0x10",
    "1_000",
    "NaN",
    "seven",
    "١٢٣",
    "\uff11\uff12",
    "²",
    "9" * 63,
    "9" * 5000,
    "999999999999999",
    "253402300800",
    "0",
    "-" + "9" * 5000,
    "--29000000",
)
each_hostile = pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))


@each_hostile
def test_what_is_no_number_is_none(text: str) -> None:
    number = whole_number(text)
    assert number is None or str(number) == text


def test_numbers_are_read() -> None:
    assert (whole_number("0"), whole_number("17"), whole_number("0017")) == (0, 17, 17)


def the_pod(label: str, text: str) -> PodView:
    """A pod of a target that has a hostile label, as it is seen."""
    target = a_workload()
    pod = a_target_pod("p", "a", labels={label: text})
    reading = a_reading(target)
    (job,) = seen(fake_node("a"), a_targeting_job(target=target), pod, targets=[reading]).jobs
    (view,) = job.pods
    return view


@each_hostile
def test_a_pod_was_not_sent_at_a_time_that_is_none(text: str) -> None:
    created = the_pod(f"{GROUP}/placed-at", text).created
    assert created is not None
    assert NOW - timedelta(hours=1) <= created <= NOW, "it counts from when it was made"


def test_a_pod_counts_from_when_it_was_sent() -> None:
    sent = NOW - timedelta(seconds=7)
    assert the_pod(f"{GROUP}/placed-at", str(int(sent.timestamp()))).created == sent


@each_hostile
@pytest.mark.parametrize(
    "label",
    [
        "apps.kubernetes.io/pod-index",
        "leaderworkerset.sigs.k8s.io/group-index",
        "leaderworkerset.sigs.k8s.io/worker-index",
    ],
)
def test_a_pod_with_a_hostile_number_is_seen(label: str, text: str) -> None:
    view = the_pod(label, text)
    assert view.replica >= -1
    assert view.rank >= 0
    assert ordinal_of(view.labels) is None or ordinal_of(view.labels) == int(text)


@each_hostile
@pytest.mark.parametrize("label", ["replica", "rank", "revision", "template-hash"])
def test_a_pod_of_a_job_with_a_hostile_label_is_seen(label: str, text: str) -> None:
    job = at(an_inference_job("serve"), "a")
    (pod,) = pods_of(job)
    pod["metadata"]["labels"][f"{GROUP}/{label}"] = text
    (view,) = seen(fake_node("a"), job, pod).jobs
    assert [each.name for each in view.pods] == [pod["metadata"]["name"]]


@each_hostile
def test_a_node_whose_devices_are_shared_by_no_number_has_its_gpus(text: str) -> None:
    labels = {"nvidia.com/gpu.replicas": text}
    (node,) = seen(node_with(labels)).nodes
    assert sum(offer.count for offer in gpu_offers(node.node)) <= 8


def node_with(labels: dict[str, str]) -> Manifest:
    return fake_node("a", gpus=8, labels=labels)


@each_hostile
def test_a_hostile_deletion_cost_is_no_mark_of_ours(text: str) -> None:
    assert not is_recent(text, 29_000_000)


@pytest.mark.parametrize(("cost", "recent"), [("-28999995", True), ("-28999000", False)])
def test_marks_are_recent_for_minutes(cost: str, *, recent: bool) -> None:
    assert is_recent(cost, 29_000_000) is recent


@each_hostile
def test_a_hostile_selector_of_nodes_harms_nothing(text: str) -> None:
    more: dict[str, Any] = {"key": "size", "operator": "Gt", "values": [text]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [more]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    target = a_workload(affinity={"nodeAffinity": required})
    job = a_targeting_job(target=target)
    (view,) = seen(node_with({"size": "5"}), job, targets=[a_reading(target)]).jobs
    assert view.target is not None
