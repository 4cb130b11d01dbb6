from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.kube.objects.objects import Node
from plimsoll.observe.nodes.notices import Availability, availability
from plimsoll.vocabulary.reasons import Reason

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
OPEN = Availability(open=True, usable=True)


def state_of(
    *,
    taints: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
    changed: datetime = NOW,
    **node: Any,  # noqa: ANN401 - whatever else a manifest may say
) -> Availability:
    document = {
        "metadata": {"name": "n", **node.get("metadata", {})},
        "spec": {
            "unschedulable": node.get("unschedulable", False),
            "taints": [{"key": key, "effect": effect} for key, effect in (taints or {}).items()],
        },
        "status": {
            "conditions": [
                {"type": type_, "status": status, "lastTransitionTime": changed.isoformat()}
                for type_, status in (conditions or {"Ready": "True"}).items()
            ]
        },
    }
    return availability(msgspec.convert(document, Node), now=NOW)


def test_a_ready_node_is_open() -> None:
    assert state_of() == OPEN


def test_a_node_that_says_nothing_is_open() -> None:
    assert state_of(conditions={"Sunny": "True"}) == OPEN


def test_taints_that_only_sort_pods_close_nothing() -> None:
    taints = {"nvidia.com/gpu": "NoSchedule", "kubernetes.azure.com/scalesetpriority": "NoSchedule"}
    assert state_of(taints=taints) == OPEN


def test_a_cordoned_node_keeps_what_it_has() -> None:
    state = state_of(unschedulable=True)
    assert (state.open, state.usable, state.reason) == (False, True, Reason.CORDONED)


def test_a_node_that_is_being_deleted_must_be_left() -> None:
    state = state_of(metadata={"deletionTimestamp": NOW.isoformat()})
    assert (state.open, state.usable, state.reason) == (False, False, Reason.DELETING)


@pytest.mark.parametrize(
    ("taint", "reason", "usable"),
    [
        ("karpenter.sh/disrupted", Reason.DRAINING, False),
        ("karpenter.sh/disruption", Reason.DRAINING, False),
        ("ToBeDeletedByClusterAutoscaler", Reason.DRAINING, False),
        ("remediator.kubernetes.azure.com/unschedulable", Reason.DRAINING, False),
        ("aws-node-termination-handler/spot-itn", Reason.INTERRUPTION_NOTICE, False),
        ("cloud.google.com/impending-node-termination", Reason.INTERRUPTION_NOTICE, False),
        ("node.kubernetes.io/out-of-service", Reason.UNHEALTHY, False),
        ("plimsoll.dev/quarantine", Reason.QUARANTINED, False),
        (
            "aws-node-termination-handler/rebalance-recommendation",
            Reason.REBALANCE_RECOMMENDED,
            True,
        ),
        ("aws-node-termination-handler/scheduled-maintenance", Reason.CORDONED, True),
        ("node.kubernetes.io/unreachable", Reason.NOT_READY, True),
        ("node.kubernetes.io/disk-pressure", Reason.UNHEALTHY, True),
    ],
)
def test_a_notice_closes_the_node(taint: str, reason: Reason, *, usable: bool) -> None:
    state = state_of(taints={taint: "NoSchedule"})
    assert (state.open, state.usable, state.reason) == (False, usable, reason)
    assert taint in state.message


def test_a_notice_that_is_only_a_preference_is_none() -> None:
    assert state_of(taints={"ToBeDeletedByClusterAutoscaler": "PreferNoSchedule"}) == OPEN
    candidate = {"DeletionCandidateOfClusterAutoscaler": "PreferNoSchedule"}
    assert state_of(taints=candidate) == OPEN, "it is only thought about"


@pytest.mark.parametrize(
    ("condition", "bad", "good", "usable"),
    [
        ("GPUMissing", "True", "False", False),
        ("XIDErrors", "True", "False", False),
        ("NebiusGPUError", "True", "False", False),
        ("AcceleratedHardwareReady", "False", "True", False),
        ("KernelDeadlock", "True", "False", True),
        ("MemoryPressure", "True", "False", True),
        ("NetworkingReady", "False", "True", True),
    ],
)
def test_a_health_check_closes_the_node_only_when_it_is_bad(
    condition: str, bad: str, good: str, *, usable: bool
) -> None:
    assert state_of(conditions={condition: good, "Ready": "True"}) == OPEN
    assert state_of(conditions={condition: "Unknown", "Ready": "True"}) == OPEN
    state = state_of(conditions={condition: bad, "Ready": "True"})
    assert (state.open, state.usable, state.reason) == (False, usable, Reason.UNHEALTHY)


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_that_is_not_ready_is_left_only_after_a_while(status: str) -> None:
    lately, long_ago = NOW - timedelta(seconds=300), NOW - timedelta(seconds=301)
    for changed, usable in ((lately, True), (long_ago, False)):
        state = state_of(conditions={"Ready": status}, changed=changed)
        assert (state.open, state.usable, state.reason) == (False, usable, Reason.NOT_READY)


def test_of_several_marks_the_one_that_drives_away_speaks() -> None:
    state = state_of(
        unschedulable=True,
        taints={
            "node.kubernetes.io/unschedulable": "NoSchedule",
            "karpenter.sh/disrupted": "NoSchedule",
        },
    )
    assert (state.usable, state.reason) == (False, Reason.DRAINING)
