import copy
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from plimsoll.acting.pods.admission import change_by_admission
from plimsoll.acting.pods.manifest import PodPlacement, pod_manifest
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import Pod
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.job_manifests import a_template, a_training_job
from support.objects.manifests import edited


def asked(**pod: Any) -> Manifest:  # noqa: ANN401 - fields of a pod's spec
    job = a_training_job("train", template=a_template({"cpu": "1"}, **pod))
    (view,) = seen(job).jobs
    assert isinstance(view.resource, TrainingJob)
    return pod_manifest(view.resource, PodPlacement("worker", 0, 0, 1, "node", "nvidia.com/gpu", 1))


def change(changes: Mapping[str, Any], **pod: Any) -> str:  # noqa: ANN401 - any JSON
    """What is said of a pod that came back with these changes."""
    manifest = asked(**pod)
    made = edited(copy.deepcopy(manifest), changes)
    made["spec"].setdefault("schedulerName", "default-scheduler")
    return change_by_admission(manifest, msgspec.convert(made, Pod))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"spec.nodeName": "node"},
        {"metadata.labels.team": "vision"},
        {"spec.containers.0.resources.requests": {"cpu": "8", "memory": "1Gi"}},
        {"spec.tolerations": [{"operator": "Exists"}]},
        {"spec.nodeSelector": {"zone": "moon"}},
    ],
    ids=["nothing", "bound where it belongs", "label", "requests", "toleration", "selector"],
)
def test_what_a_plan_can_live_with_is_let_be(changes: Mapping[str, Any]) -> None:
    assert change(changes) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metadata.labels": {}}, "the label plimsoll.dev/"),
        ({"spec.nodeName": "other"}, "it is bound to node other instead of node"),
        ({"spec.affinity": {}}, "its affinity no longer pins it to node node"),
        ({"spec.schedulerName": "kai-scheduler"}, "its scheduler is kai-scheduler"),
        ({"spec.schedulingGates": [{"name": "a/b"}]}, "scheduling gate a/b holds it"),
        (
            {"spec.containers.0.resources": {"limits": {"nvidia.com/gpu": 2}}},
            "it requests 2 nvidia.com/gpu instead of 1",
        ),
        ({"spec.containers.0.resources": {}}, "it requests 0 nvidia.com/gpu"),
    ],
)
def test_what_a_plan_cannot_live_with_is_said(changes: Mapping[str, Any], said: str) -> None:
    text = change(changes)
    assert text.startswith("an admission rule changes pod train-worker-0: ")
    assert said in text
    assert "plimsoll.dev/job-uid" in text


def test_what_the_user_asked_for_is_no_change() -> None:
    assert change({}, schedulerName="volcano", schedulingGates=[{"name": "mine"}]) == ""
    message = change({"spec.schedulerName": "default-scheduler"}, schedulerName="volcano")
    assert "its scheduler is default-scheduler instead of volcano" in message
