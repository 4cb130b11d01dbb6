"""The weights of a route follow what is ready of a service, and leave everything else alone."""

import re

import msgspec
import pytest

from plimsoll.observe.snapshot import Snapshot
from plimsoll.routes.http_route import HTTPRoute, if_asking
from plimsoll.routes.weights import UnusableRouteError, changed_weights, operations
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, seen
from support.objects.http_routes import a_route
from support.objects.job_manifests import an_inference_job

BACKENDS = f"big={H100}, small={L4}"


def cluster(*, big: int, small: int, carries: int | None = 3) -> Snapshot:
    """A service with so many replicas ready on each type, and what one on the small one carries."""
    profiles = [{"type": H100, "load": 9}, {"type": L4, "load": carries}]
    job = an_inference_job("serve", role={"profiles": profiles})
    pools = [
        {"pool": kind.lower(), "acceleratorType": kind, "wanted": count, "ready": count}
        for kind, count in ((H100, big), (L4, small))
    ]
    job["status"] = {"roles": [{"name": "server", "pools": pools}]}
    return seen(job)


def route(manifest: Manifest) -> HTTPRoute:
    manifest["metadata"] |= {"namespace": NAMESPACE, "uid": "u", "resourceVersion": "7"}
    found = if_asking(msgspec.convert(manifest, HTTPRoute))
    assert found is not None
    return found


def changed(manifest: Manifest, snapshot: Snapshot) -> list[tuple[int, int, int]]:
    found = changed_weights(route(manifest), snapshot)
    return [(each.rule, each.place, each.weight) for each in found]


def test_a_backend_weighs_what_its_ready_replicas_carry() -> None:
    asked = a_route({"big": 1, "small": 1}, backends=BACKENDS)
    assert changed(asked, cluster(big=2, small=3)) == [(0, 0, 200), (0, 1, 105)]


def test_weights_that_are_right_are_not_written_again() -> None:
    asked = a_route({"big": 200, "small": 105}, backends=BACKENDS)
    assert changed(asked, cluster(big=2, small=3)) == []


def test_a_backend_without_ready_replicas_gets_nothing() -> None:
    asked = a_route({"big": 100, "small": 35}, backends=BACKENDS)
    assert changed(asked, cluster(big=1, small=0)) == [(0, 1, 0)]


def test_while_nothing_is_ready_weights_stay() -> None:
    asked = a_route({"big": 1, "small": 1}, backends=BACKENDS)
    assert changed(asked, cluster(big=0, small=0)) == []


def test_a_rule_whose_only_backend_has_nothing_ready_keeps_its_weight() -> None:
    asked = a_route({"big": 1, "small": 1}, {"small": 1}, backends=BACKENDS)
    assert changed(asked, cluster(big=1, small=0)) == [(0, 0, 100), (0, 1, 0)]


def test_backends_of_others_keep_their_weight() -> None:
    asked = a_route({"canary": 5, "big": 1, "small": 1}, backends=BACKENDS)
    assert changed(asked, cluster(big=1, small=1)) == [(0, 1, 100), (0, 2, 35)]


def test_a_type_of_unknown_capacity_counts_as_the_best() -> None:
    asked = a_route({"big": 1, "small": 1}, backends=BACKENDS)
    found = changed(asked, cluster(big=1, small=2, carries=None))
    assert found == [(0, 0, 100), (0, 1, 200)]


def test_only_the_route_that_was_seen_is_patched() -> None:
    asked = route(a_route({"big": 1, "small": 1}, backends=BACKENDS))
    assert operations(asked, changed_weights(asked, cluster(big=1, small=0))) == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/spec/rules/0/backendRefs/0/weight", "value": 100},
        {"op": "add", "path": "/spec/rules/0/backendRefs/1/weight", "value": 0},
    ]


def test_routes_that_do_not_ask_are_not_kept() -> None:
    silent = a_route({"big": 1}, of=None)
    assert if_asking(msgspec.convert(silent, HTTPRoute)) is None


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (a_route({"big": 1}), "annotation plimsoll.dev/backends is missing or empty: set it to"),
        (
            a_route({"big": 1}, backends="big"),
            "annotation plimsoll.dev/backends has 'big', which is not BACKEND=GPU-TYPE",
        ),
        (
            a_route({"big": 1}, backends=f"big={H100},small={L4}"),
            "names small, to which no rule of the route refers: correct it, or add it",
        ),
        (
            a_route({"big": 1}, backends="big=H100; small=L4"),
            "has 'big=H100; small=L4', which is not BACKEND=GPU-TYPE",
        ),
        (
            a_route({"big": 1}, backends="big=A100"),
            f"names GPU type A100, and the service has profiles of {H100}, {L4} alone: correct",
        ),
        (
            a_route({"big": 1}, of=None, backends=f"big={H100}"),
            "annotation plimsoll.dev/weights-of is missing or empty: set it to the name",
        ),
        (
            a_route({"big": 1}, of="other", backends=f"big={H100}"),
            f"names InferenceJob other, which does not exist in namespace {NAMESPACE}: correct it",
        ),
    ],
)
def test_what_cannot_be_followed_says_what_to_change(asked: Manifest, says: str) -> None:
    with pytest.raises(UnusableRouteError, match=re.escape(says)):
        changed_weights(route(asked), cluster(big=1, small=1))
