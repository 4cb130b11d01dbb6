from datetime import UTC, datetime

import msgspec
import pytest

from plimsoll.kube.objects.objects import (
    Container,
    ContainerStatus,
    Node,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    ReadinessGate,
    Toleration,
)
from plimsoll.kube.objects.sharing import NodeSharing, PodSharing, SharedParts
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.labels import SERVING
from plimsoll.observe.views.pods import DATED_CONDITIONS, pod_view


def a_pod(image_gpus: str = "1") -> Pod:
    document = {
        "spec": {
            "containers": [
                {"name": "main", "resources": {"limits": {"nvidia.com/gpu": image_gpus}}}
            ],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    return msgspec.convert(document, Pod)


def test_equal_parts_of_two_pods_are_one_object() -> None:
    share = PodSharing()
    one, other = share(a_pod()), share(a_pod())
    assert one == a_pod()
    assert one.spec.containers is other.spec.containers
    assert one.spec.tolerations is other.spec.tolerations
    assert one.status.conditions is other.status.conditions


@pytest.mark.parametrize("notes", [{}, {"example.com/a": "b"}, {"plimsoll.dev/a": "b"}])
def test_what_is_kept_of_a_node_can_be_written_and_read_again(notes: dict[str, str]) -> None:
    amounts = {"nvidia.com/gpu": "8"}
    document = {
        "metadata": {"name": "node", "labels": {"a": "b"}, "annotations": notes},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    kept = NodeSharing()(msgspec.convert(document, Node))
    assert msgspec.json.decode(msgspec.json.encode(kept), type=Node) == kept
    ours = {name: value for name, value in notes.items() if name.startswith("plimsoll.dev/")}
    assert kept.metadata.annotations == ours


def test_unequal_parts_stay_apart() -> None:
    share = PodSharing()
    assert share(a_pod("1")).spec.containers != share(a_pod("2")).spec.containers


def test_since_when_a_condition_holds_is_kept_of_those_that_are_read() -> None:
    since = datetime(2026, 11, 21, 12, tzinfo=UTC)
    kinds = ("Initialized", "Ready", SERVING)
    conditions = tuple(PodCondition(kind, "False", last_transition_time=since) for kind in kinds)
    gates = (ReadinessGate(SERVING),)
    pod = Pod(spec=PodSpec(readiness_gates=gates), status=PodStatus(conditions=conditions))
    shared = PodSharing(DATED_CONDITIONS)(pod)
    since_by_type = {each.type: each.last_transition_time for each in shared.status.conditions}
    assert since_by_type == {"Initialized": None, "Ready": since, SERVING: since}
    view = pod_view(shared, Requests())
    assert (view.ready_since, view.draining_since) == (since, since)


def test_parts_that_look_alike_on_the_wire_keep_their_types() -> None:
    pod = Pod(
        spec=PodSpec(containers=(Container(name="main"),), tolerations=(Toleration(key="k"),)),
        status=PodStatus(container_statuses=(ContainerStatus(name="main"),)),
    )
    shared = PodSharing()(pod)
    assert isinstance(shared.spec.containers[0], Container)
    assert isinstance(shared.status.container_statuses[0], ContainerStatus)


def test_what_is_remembered_is_bounded() -> None:
    parts = SharedParts(limit=2)
    first = parts.one("field", ("a",))
    parts.one("field", ("b",))
    parts.one("field", ("c",))
    assert parts.one("field", tuple("a")) is not first
