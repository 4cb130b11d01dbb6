"""Jobs nested deeper than Python's decoders go, which the API server takes, harm no others."""

import json

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.neighbours import placed_meanwhile, unharmed
from support.clusters.scene import GROUP, Scene
from support.objects.job_manifests import a_training_job


def nested(depth: int) -> str:
    return '{"a":' * depth + '"bottom"' + "}" * depth


def a_deep_job(name: str, depth: int) -> bytes:
    """A job with a field of its template that nobody knows, nested so deep.

    It is suspended, for here it is about whether it is read; others plan such jobs.
    """
    job = a_training_job(name)
    job["spec"]["suspend"] = True
    job["spec"]["workers"]["template"]["spec"]["unknown"] = "NESTED"
    return json.dumps(job).replace('"NESTED"', nested(depth)).encode()


@pytest.mark.parametrize("depth", [1000, 5000])
def test_a_job_nested_a_thousand_levels_harms_no_others(scene: Scene, depth: int) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    jobs = f"{GROUP}/namespaces/{scene.namespace}/trainingjobs"
    with unharmed(scene.operator):
        placed_meanwhile(scene, "before")
        scene.api.create_text(jobs, a_deep_job("deep", depth))
        placed_meanwhile(scene, "beside")
        scene.api.delete(f"{jobs}/deep")
        placed_meanwhile(scene, "after")


def test_an_operator_that_begins_beside_a_job_nested_a_thousand_levels_acts(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    jobs = f"{GROUP}/namespaces/{scene.namespace}/trainingjobs"
    scene.api.create_text(jobs, a_deep_job("deep", 1000))
    scene.operator.stop()
    scene.operator.start()
    with unharmed(scene.operator):
        placed_meanwhile(scene, "beside")
    scene.api.delete(f"{jobs}/deep")
