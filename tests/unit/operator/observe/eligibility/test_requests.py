from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from plimsoll.api.values.quantities import LARGEST
from plimsoll.errors import InvalidQuantity
from plimsoll.kube.objects.objects import PodSpec
from plimsoll.observe.eligibility.requests import Requests, effective_requests

Spec = Mapping[str, Any]


def requests_of(spec: Spec) -> Requests:
    return effective_requests(msgspec.convert(spec, PodSpec))


NOTHING: dict[str, Any] = {}


def asks(cpu: str, *, sidecar: bool = False) -> dict[str, Any]:
    container: dict[str, Any] = {"resources": {"requests": {"cpu": cpu}}}
    return {**container, "restartPolicy": "Always"} if sidecar else container


def test_containers_run_together() -> None:
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "1"}}},
            {"resources": {"requests": {"cpu": "0.5", "memory": "1Gi", "nvidia.com/gpu": 2}}},
        ]
    }
    assert requests_of(spec) == Requests(2000, 2 * 2**30, {"nvidia.com/gpu": 3})


def test_limits_stand_in_for_what_is_not_requested() -> None:
    spec = {
        "containers": [
            {"resources": {"limits": {"cpu": "4", "nvidia.com/gpu": 1}, "requests": {"cpu": "1"}}}
        ]
    }
    assert requests_of(spec) == Requests(1000, 0, {"nvidia.com/gpu": 1})


@pytest.mark.parametrize(
    ("spec", "cpu_millis"),
    [
        pytest.param({}, 0, id="nothing"),
        pytest.param({"containers": [NOTHING]}, 0, id="best effort"),
        pytest.param(
            {"containers": [asks("2")], "initContainers": [asks("5"), asks("3")]},
            5000,
            id="the largest init container runs alone",
        ),
        pytest.param(
            {"containers": [asks("2")], "initContainers": [asks("1")]},
            2000,
            id="a small init container does not count",
        ),
        pytest.param(
            {"containers": [asks("2")], "initContainers": [asks("1", sidecar=True)]},
            3000,
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            {
                "containers": [asks("2")],
                "initContainers": [asks("1", sidecar=True), asks("4"), asks("1", sidecar=True)],
            },
            5000,
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {
                "containers": [asks("2")],
                "initContainers": [asks("4"), asks("1", sidecar=True), asks("1", sidecar=True)],
            },
            4000,
            id="and not beside those after it",
        ),
        pytest.param(
            {"containers": [asks("2")], "overhead": {"cpu": "250m"}}, 2250, id="overhead is added"
        ),
        pytest.param(
            {"containers": [asks("2")], "resources": {"requests": {"cpu": "7"}}},
            7000,
            id="a request of the pod as a whole goes before its containers'",
        ),
        pytest.param(
            {"containers": [asks("2")], "resources": {"limits": {"cpu": "7"}}},
            2000,
            id="a limit of the pod as a whole goes behind them",
        ),
        pytest.param(
            {"containers": [NOTHING], "resources": {"limits": {"cpu": "7"}}},
            7000,
            id="and counts where they ask for nothing",
        ),
    ],
)
def test_the_most_at_any_time_counts(spec: Spec, cpu_millis: int) -> None:
    assert requests_of(spec).cpu_millis == cpu_millis


def test_each_resource_has_its_own_most() -> None:
    spec = {
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}],
        "initContainers": [{"resources": {"requests": {"memory": "4Gi"}}}],
    }
    assert requests_of(spec) == Requests(0, 4 * 2**30, {"nvidia.com/gpu": 1})


def test_what_is_asked_for_zero_times_is_not_named() -> None:
    spec = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 0}}}]}
    assert requests_of(spec) == Requests()


@pytest.mark.parametrize(("resource", "amount"), [("cpu", "9E"), ("memory", "8Ei")])
@pytest.mark.parametrize("part", ["containers", "initContainers"])
def test_sums_end_at_the_largest_number(resource: str, amount: str, part: str) -> None:
    container = {"resources": {"requests": {resource: amount}}, "restartPolicy": "Always"}
    overhead = {"overhead": {resource: amount}}
    asked = requests_of({part: [container] * 9, **overhead})
    assert max(asked.cpu_millis, asked.memory_bytes) == LARGEST


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidQuantity):
        requests_of({"containers": [asks("lots")]})


def test_ports_of_the_node_are_requested_where_a_pod_takes_them() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 53, "protocol": "UDP"}]
    init = {"name": "i", "ports": [{"containerPort": 1, "hostPort": 1}]}
    sidecar = {"name": "s", "restartPolicy": "Always", "ports": [{"containerPort": 9100}]}
    spec = {"containers": [{"name": "c", "ports": ports}], "initContainers": [init, sidecar]}
    assert requests_of(spec).others == {"single:host port TCP 8080": 1}
    assert requests_of({**spec, "hostNetwork": True}).others == {
        "single:host port TCP 8080": 1,
        "single:host port UDP 53": 1,
        "single:host port TCP 9100": 1,
    }
