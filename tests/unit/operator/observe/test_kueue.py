from collections.abc import Mapping

import pytest

from plimsoll.observe.kueue import left_to_kueue

QUEUE = "kueue.x-k8s.io/queue-name"


@pytest.mark.parametrize(
    ("labels", "gates", "managed_by", "mark"),
    [
        ({QUEUE: "team-a"}, (), "", f"the label {QUEUE}"),
        ({QUEUE: ""}, (), "", f"the label {QUEUE}"),
        ({"kueue.x-k8s.io/managed": "true"}, (), "", "the label kueue.x-k8s.io/managed"),
        ({}, ("a/b", "kueue.x-k8s.io/admission"), "", "gate kueue.x-k8s.io/admission"),
        ({}, ("kueue.x-k8s.io/topology",), "", "gate kueue.x-k8s.io/topology"),
        ({}, (), "kueue.x-k8s.io/multikueue", "spec.managedBy kueue.x-k8s.io/multikueue"),
    ],
)
def test_what_bears_a_mark_of_kueue_is_left_to_it(
    labels: Mapping[str, str], gates: tuple[str, ...], managed_by: str, mark: str
) -> None:
    why = left_to_kueue("Job train", labels, gates=gates, managed_by=managed_by)
    assert why is not None
    assert why.startswith("Job train has ")
    assert mark in why


@pytest.mark.parametrize(
    ("labels", "gates", "managed_by"),
    [
        ({}, (), ""),
        ({"app": "web", "kueue.x-k8s.io/priority-class": "high"}, (), ""),
        ({"kueue.x-k8s.io.example.com/queue-name": "a"}, (), ""),
        ({}, ("plimsoll.dev/placement",), ""),
        ({}, (), "kubernetes.io/job-controller"),
    ],
)
def test_what_bears_none_is_not_kueues(
    labels: Mapping[str, str], gates: tuple[str, ...], managed_by: str
) -> None:
    assert left_to_kueue("Job train", labels, gates=gates, managed_by=managed_by) is None
