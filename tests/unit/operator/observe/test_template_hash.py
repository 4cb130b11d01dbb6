"""Which pods are of a template does not depend on what API servers fill in."""

from typing import Any

import pytest

from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.observe.template_hash import template_hash, template_hashes


def a_template(*ports: dict[str, Any], **pod: Any) -> PodTemplate:  # noqa: ANN401 - any JSON
    container = {"name": "main", "image": "main:1", "ports": [*ports]}
    return PodTemplate.model_validate({"spec": {"containers": [container], **pod}})


PLAIN = a_template({"containerPort": 80, "newer": {"a": []}})
FILLED_IN = a_template({"containerPort": 80, "newer": {"a": []}, "protocol": "TCP"})


def test_pods_from_before_the_protocol_was_filled_in_are_of_the_template() -> None:
    assert template_hash(PLAIN, 1000) != template_hash(FILLED_IN, 1000)
    assert template_hash(PLAIN, 1000) in template_hashes(FILLED_IN, 1000)


def test_pods_of_a_template_that_named_the_protocol_are_of_it() -> None:
    assert template_hash(FILLED_IN, 1000) in template_hashes(FILLED_IN, 1000)


@pytest.mark.parametrize(
    "other",
    [
        a_template({"containerPort": 81, "protocol": "TCP"}),
        a_template({"containerPort": 80, "newer": {"a": []}, "protocol": "UDP"}),
        a_template({"containerPort": 80, "newer": {"a": []}}, hostNetwork=True),
        a_template(),
    ],
)
def test_pods_of_another_template_are_not(other: PodTemplate) -> None:
    assert template_hash(PLAIN, 1000) not in template_hashes(other, 1000)


def test_pods_with_other_gpus_are_not() -> None:
    assert template_hash(FILLED_IN, 1000) not in template_hashes(FILLED_IN, 2000)


def test_ports_of_init_containers_count_alike() -> None:
    def with_sidecar(*ports: dict[str, Any]) -> PodTemplate:
        sidecar = {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}
        return a_template(initContainers=[{**sidecar, "ports": [*ports]}])

    before, filled = {"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}
    hashes = template_hashes(with_sidecar(filled), 1000)
    assert template_hash(with_sidecar(before), 1000) in hashes
