"""Jobs that make no sense, beside the jobs of another tenant, which must not notice them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.neighbours import placed_meanwhile
from support.clusters.scene import Scene
from support.objects.senseless_jobs import BEYOND_NUMBERS, WRONG_IN_THE_TEMPLATE, called

CRDS = Path(__file__).parents[3] / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SENSELESS = {**WRONG_IN_THE_TEMPLATE, **BEYOND_NUMBERS}
EXPLAINED = {"InvalidSpec", "CannotFit", "NoEligibleNode", "InsufficientResources", "PodRefused"}


def opened(schema: Any) -> Any:  # noqa: ANN401 - any JSON
    """A schema in which pod templates may hold whatever they like, as they could once."""
    if isinstance(schema, list):
        parts = cast("list[Any]", schema)
        return [opened(each) for each in parts if not _is_about_templates(each)]
    if not isinstance(schema, dict):
        return schema
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        key: anything if key == "template" and isinstance(value, dict) else opened(value)
        for key, value in cast("Manifest", schema).items()
    }


def _is_about_templates(part: Any) -> bool:  # noqa: ANN401 - same
    """Whether this is a rule that reads what is in a template."""
    return isinstance(part, dict) and "template" in str(cast("Manifest", part).get("rule", ""))


@pytest.fixture
def lenient(api: ApiServer) -> Iterator[ApiServer]:
    """An API server that takes any pod template."""
    for plural in ("trainingjobs", "inferencejobs"):
        path = f"{DEFINITIONS}/{plural}.plimsoll.dev"
        api.merge(path, {"spec": {"versions": opened(api.get(path)["spec"]["versions"])}})
    yield api
    install_crds(api, CRDS)


def stored(scene: Scene, job: Manifest) -> bool:
    """Whether the API server takes a job once its schema does."""

    def is_in() -> bool:
        try:
            scene.apply(job)
        except ApiServerRefusedError as error:
            if "Invalid value" in str(error):
                return False  # the definition is not in force yet
            raise
        return True

    return bool(wait_until(is_in, timeout_seconds=30, what=f"{job['metadata']['name']} is taken"))


def test_jobs_that_make_no_sense_cost_only_themselves(
    scene: Scene, hostile: Scene, lenient: ApiServer
) -> None:
    scene.add_nodes(*(fake_node(f"node-{number}", gpus=8) for number in range(4)))
    for number, (name, job) in enumerate(SENSELESS.items()):
        senseless = called(name, job)
        stored(hostile, senseless)
        scene.running(placed_meanwhile(scene, f"good-{number}"))
        status = wait_until(
            lambda job=senseless: (status := hostile.status(job)).get("reason") and status,
            timeout_seconds=scene.patience_seconds,
            what=f"{name} says what is wrong",
        )
        assert status is not None
        assert status["message"], name
        if name in WRONG_IN_THE_TEMPLATE:
            assert status["reason"] in EXPLAINED, f"{name}: {status['reason']}"
    assert lenient is scene.api
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0
    assert scene.operator.is_running()
