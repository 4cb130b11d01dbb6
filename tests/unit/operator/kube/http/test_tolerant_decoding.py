"""One object that cannot be read costs itself only, however it is wrong."""

import json
from typing import Any

import msgspec
import pytest

from plimsoll.errors import Undecodable
from plimsoll.kube.http.tolerant_decoding import ALL_OF_A_NODE, Unread, identity, page, read
from plimsoll.kube.objects.objects import Node, Pod, PodDisruptionBudget
from plimsoll.kube.objects.shallow import MOST_DEPTH, shallow
from plimsoll.observe.eligibility.requests import effective_requests


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b'"bottom"' + b"}" * depth


def a_body(name: str, *, meta: str = "{}", **parts: str) -> bytes:
    """An object of which some parts are given as the text that stands there."""
    known = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "7"}
    head = json.dumps(known)[:-1] + ("," + meta[1:] if meta != "{}" else "}")
    rest = "".join(f', "{key}": {text}' for key, text in parts.items())
    return f'{{"metadata": {head}{rest}}}'.encode()


def a_list(*bodies: bytes) -> bytes:
    return b'{"metadata": {"resourceVersion": "9"}, "items": [' + b",".join(bodies) + b"]}"


ODD = {
    "a number of 5,000 digits": a_body("odd", status='{"allocatable": {"cpu": %s}}' % ("9" * 5000)),
    "a number beyond all floats": a_body("odd", meta='{"generation": 1e400}'),
    "a text where there is a list": a_body("odd", spec='{"taints": "all"}'),
    "an object where there is a text": a_body("odd", spec='{"providerID": {}}'),
    "no text of this world": a_body("odd").replace(b"team", b"te\xffam"),
    "a time before all times": a_body("odd", meta='{"creationTimestamp": "-1"}'),
    "null": b"null",
    "a list": b"[]",
    "metadata that is none": b'{"metadata": 7}',
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_of_a_list_with_one_object_that_cannot_be_read_all_others_are_taken(odd: bytes) -> None:
    found = page(a_list(a_body("first"), odd, a_body("last")), Node)
    assert [node.metadata.name for node in found.items] == ["first", "last"]
    assert len(found.unread) == 1
    assert found.metadata.resource_version == "9"


def test_what_cannot_be_read_is_reported_by_its_name_and_what_is_wrong() -> None:
    found = read(ODD["a text where there is a list"], Node)
    assert isinstance(found, Unread)
    assert (found.metadata.namespace, found.metadata.name) == ("team", "odd")
    assert "$.spec.taints" in found.error


@pytest.mark.parametrize("depth", [1000, 9_999])
@pytest.mark.parametrize("type_", [dict, Node, Pod, PodDisruptionBudget, msgspec.Raw])
def test_however_deep_an_object_is_nested_it_and_its_neighbours_are_read(
    depth: int, type_: type[Any]
) -> None:
    deep = a_body("deep", other=nested(depth).decode())
    assert len(page(a_list(a_body("first"), deep, a_body("last")), type_).items) == 3
    assert identity(deep).name == "deep"


def test_what_lies_too_deep_is_left_out_and_all_else_is_kept() -> None:
    texts = '"}]{[ \\" \\\\"'
    body = f'{{"x": {texts}, "deep": {nested(5).decode()}, "y": [[], [1]]}}'.encode()
    assert json.loads(shallow(body, 3)) == {
        "x": json.loads(texts),
        "deep": {"a": {"a": None}},
        "y": [[], [1]],
    }
    assert shallow(body, 6) == body


def test_what_has_lost_something_is_deeper_than_any_schema_takes() -> None:
    found: Any = json.loads(shallow(nested(5000)))
    depth = 0
    while found is not None:
        found, depth = found["a"], depth + 1
    assert depth == MOST_DEPTH > 255


def test_a_pod_whose_requests_cannot_be_read_holds_all_of_its_node() -> None:
    body = a_body("odd", spec='{"nodeName": "n", "containers": 7}', status='{"phase": "Running"}')
    pod = read(body, Pod)
    assert isinstance(pod, Pod)
    assert (pod.spec.node_name, pod.status.phase) == ("n", "Running")
    assert pod.spec.containers == (ALL_OF_A_NODE,)
    assert effective_requests(pod.spec).cpu_millis >= 2**60
    assert effective_requests(pod.spec).memory_bytes >= 2**60


def test_a_pod_whose_status_cannot_be_read_holds_what_it_asks_for_until_it_is_over() -> None:
    spec = '{"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": "2"}}}]}'
    for status, phase in (('{"conditions": 7, "phase": "Failed"}', "Failed"), ("7", None)):
        found = read(a_body("odd", spec=spec, status=status), Pod)
        if phase is None:
            assert isinstance(found, Unread)
        else:
            assert isinstance(found, Pod)
            assert effective_requests(found.spec).cpu_millis == 2000
            assert found.status.phase == phase


def test_a_pod_whose_labels_cannot_be_read_is_a_pod_of_nobody_that_holds_what_it_does() -> None:
    found = read(a_body("odd", meta='{"labels": 7}', spec='{"nodeName": "n"}'), Pod)
    assert isinstance(found, Pod)
    assert (found.metadata.uid, found.spec.node_name) == ("uid-odd", "n")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>log in</html>", b"[]", b'{"items": 7}', b"\xff", b'{"items": ["\\ud800"]}'],
)
def test_an_answer_that_is_no_list_at_all_is_an_error_of_the_server(body: bytes) -> None:
    with pytest.raises(Undecodable):
        page(body, Pod)
