from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.writes.taints import operations
from plimsoll.observe.measured.gpu_faults import GpuFault
from plimsoll.planning.disruption.quarantine import Quarantine, Release, quarantine_changes
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_policy, a_training_job

NODES = [fake_node(f"n-{index}", gpus=4) for index in range(3)]
TAINT = "plimsoll.dev/quarantine"


def a_job(
    name: str, *failures: str, minutes_ago: float = 10, namespace: str | None = None
) -> Manifest:
    """A job whose workers failed on these nodes; each job is in a namespace of its own."""
    at = (NOW - timedelta(minutes=minutes_ago)).isoformat()
    wire = [{"node": node, "time": at, "message": "failed with exit code 1"} for node in failures]
    metadata = {"name": name, "namespace": namespace or f"team-{name}"}
    return {**a_training_job(name), "metadata": metadata, "status": {"failures": wire}}


def changes(*manifests: Manifest, nodes: Iterable[Manifest] = NODES) -> list[tuple[str, str]]:
    """What is done with which nodes."""
    found = quarantine_changes(seen(*nodes, *manifests))
    return [(type(change).__name__, change.node.name) for change in found]


def tainted(value: str, name: str = "n-0") -> Manifest:
    taint = {"key": TAINT, "effect": "NoSchedule", "value": value}
    return {**fake_node(name, gpus=4), "spec": {"taints": [{**taint, "key": "other"}, taint]}}


def rules(**rules: Any) -> Manifest:  # noqa: ANN401 - fields of the policy's quarantine
    return a_policy(quarantine=rules)


def test_a_node_on_which_several_jobs_fail_is_quarantined() -> None:
    snapshot = seen(*NODES, a_job("one", "n-1", "n-1"), a_job("two", "n-1", "n-2"))
    [change] = quarantine_changes(snapshot)
    assert isinstance(change, Quarantine)
    assert change.node.name == "n-1"
    assert change.until == NOW + timedelta(hours=1)
    assert change.message.startswith("workers of 2 jobs failed here 3 times within 60 min")


@pytest.mark.parametrize(
    "jobs",
    [
        [a_job("one", *["n-1"] * 9)],
        [a_job("one", "n-1"), a_job("two", "n-1")],
        [a_job("one", "n-1", "n-1", minutes_ago=61), a_job("two", "n-1")],
        [a_job("one", "gone", "gone"), a_job("two", "gone")],
        [a_job(name, *["n-1"] * 9, namespace="team") for name in ("one", "two", "three")],
        [a_job("one", "n-1", "n-1"), a_job("two", "n-0", "n-1", "n-2")],
    ],
    ids=[
        "one job alone",
        "too few",
        "long ago",
        "a node that is gone",
        "one tenant alone",
        "one of them fails everywhere",
    ],
)
def test_that_is_not_enough(jobs: list[Manifest]) -> None:
    assert changes(*jobs) == []


def test_the_policy_says_how_much_is_enough() -> None:
    jobs = (a_job("one", "n-1", "n-1"), a_job("two", "n-1"))
    assert changes(*jobs, rules(failures=4)) == []
    assert changes(*jobs, rules(failures=0)) == []
    assert changes(*jobs, rules(failures=3, within="5m")) == []
    assert changes(*jobs, rules(failures=2)) == [("Quarantine", "n-1")]
    assert changes(*jobs, rules(distinctNamespaces=3)) == []


def test_where_all_are_one_tenant_its_jobs_may_be_believed() -> None:
    jobs = [a_job(name, "n-1", "n-1", namespace="team") for name in ("one", "two")]
    assert changes(*jobs) == []
    assert changes(*jobs, rules(distinctNamespaces=1)) == [("Quarantine", "n-1")]
    assert changes(jobs[0], rules(distinctNamespaces=1, failures=1)) == []


def test_where_workers_fail_everywhere_it_is_not_the_nodes() -> None:
    nodes = [node["metadata"]["name"] for node in NODES]
    assert changes(*(a_job(name, *nodes, *nodes) for name in ("one", "two", "three"))) == []
    jobs = [a_job(f"{name}-{node}", *[node] * 2) for node in nodes for name in ("one", "two")]
    assert changes(*jobs, a_job("three", "n-2")) == [("Quarantine", "n-2")]
    assert changes(*jobs, nodes=[tainted("", "n-0"), *NODES[1:]]) == []


def test_a_node_that_is_labelled_so_is_never_quarantined() -> None:
    jobs = (a_job("one", "n-1", "n-1"), a_job("two", "n-1"))
    kept = fake_node("n-1", gpus=4)
    kept["metadata"]["labels"][TAINT] = "never"
    assert changes(*jobs, nodes=[kept]) == []


def test_a_node_comes_back_when_its_time_is_over() -> None:
    assert changes(nodes=[tainted("until-20261121T115959Z")]) == [("Release", "n-0")]
    assert changes(nodes=[tainted("until-20261121T120001Z")]) == []


@pytest.mark.parametrize("value", ["", "hardware", "until-tomorrow"])
def test_what_others_put_in_quarantine_stays_there(value: str) -> None:
    assert changes(nodes=[tainted(value)]) == []


def test_the_end_is_kept_in_the_taint() -> None:
    [change] = quarantine_changes(seen(*NODES, a_job("one", "n-1", "n-1"), a_job("two", "n-1")))
    assert isinstance(change, Quarantine)
    over = tainted(change.taint.value)
    [release] = quarantine_changes(seen(over, now=change.until))
    assert isinstance(release, Release)


def test_the_other_taints_of_a_node_are_left_alone() -> None:
    [release] = quarantine_changes(seen(tainted("until-20261121T115959Z")))
    test, removed = operations(release)
    assert test["op"] == "test"
    assert removed == {"op": "remove", "path": "/spec/taints/1"}
    jobs = (a_job("one", "n-1", "n-1"), a_job("two", "n-1"))
    cordoned = {**NODES[1], "spec": {"taints": [{"key": "other", "effect": "NoSchedule"}]}}
    paths: list[object] = []
    for node in (NODES[1], cordoned):
        [change] = quarantine_changes(seen(node, *jobs))
        paths.append(operations(change)[1]["path"])
    assert paths == ["/spec/taints", "/spec/taints/-"]


def a_fault(node: str, xid: int = 79) -> GpuFault:
    return GpuFault({"node": node, "gpu": "0"}, xid, NOW)


def test_a_node_with_a_broken_gpu_is_quarantined_at_once() -> None:
    [change] = quarantine_changes(seen(*NODES, gpu_faults=[a_fault("n-1"), a_fault("gone")]))
    assert isinstance(change, Quarantine)
    assert (change.node.name, change.until) == ("n-1", NOW + timedelta(hours=1))
    assert change.message == "XID 79 of GPU 0: it has fallen off the bus"


def test_a_broken_gpu_goes_before_failed_workers() -> None:
    jobs = (a_job("one", "n-0", "n-0", "n-1"), a_job("two", "n-0", "n-1", "n-1"))
    [change] = quarantine_changes(seen(*NODES, *jobs, gpu_faults=[a_fault("n-1")]))
    assert (change.node.name, change.message.split()[0]) == ("n-1", "XID")


def test_the_policy_may_leave_broken_gpus_to_others() -> None:
    off = seen(*NODES, rules(gpuFaults=False), gpu_faults=[a_fault("n-1")])
    assert list(quarantine_changes(off)) == []
    by_failures = seen(*NODES, rules(failures=0), gpu_faults=[a_fault("n-1")])
    assert [change.node.name for change in quarantine_changes(by_failures)] == ["n-1"]


def test_where_gpus_break_everywhere_not_all_nodes_go() -> None:
    faults = [a_fault(node["metadata"]["name"]) for node in NODES]
    assert len(list(quarantine_changes(seen(*NODES, gpu_faults=faults)))) == 1
    full = seen(tainted("", "n-0"), *NODES[1:], gpu_faults=faults)
    assert list(quarantine_changes(full)) == []


def test_a_node_is_not_tried_again_while_its_gpu_has_just_broken() -> None:
    over = tainted("until-20261121T115959Z")
    assert list(quarantine_changes(seen(over, gpu_faults=[a_fault("n-0")]))) == []
    [release] = quarantine_changes(seen(over, gpu_faults=[a_fault("n-1")]))
    assert isinstance(release, Release)
