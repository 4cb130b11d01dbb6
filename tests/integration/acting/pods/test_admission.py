"""Admission rules of others that change pods or cannot be asked: what a plan can live with is
counted as it is, all else is a reason on the job, and is mended when the rule goes.
"""

from collections.abc import Iterator, Mapping

import pytest

from plimsoll_devcluster.api_server import ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of, until_gone
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_gpu_pod, a_template, a_training_job

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CHANGE = "change"
"""The label of a template by which a pod is changed; its value is one of these."""
REFUSED = {
    "labels": ("replace", "/metadata/labels", '{"change": "labels"}', "is missing"),
    "node": ("add", "/spec/nodeName", '"other"', "it is bound to node other"),
    "affinity": ("replace", "/spec/affinity", "{}", "its affinity no longer pins it to node"),
    "scheduler": ("add", "/spec/schedulerName", '"volcano"', "its scheduler is volcano"),
    "gate": (
        "add",
        "/spec/schedulingGates",
        '[{"name": "kueue.x-k8s.io/admission"}]',
        "scheduling gate kueue.x-k8s.io/admission holds it",
    ),
    "gpus": (
        "add",
        "/spec/containers/0/resources",
        '{"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}}',
        "it requests 2 nvidia.com/gpu instead of 1",
    ),
}
HARMLESS = {
    "cpu": ("add", "/spec/containers/0/resources/requests/cpu", '"6"', ""),
    "toleration": ("add", "/spec/tolerations/-", '{"operator": "Exists"}', ""),
    "label": ("add", "/metadata/labels/team", '"vision"', ""),
}
CHANGES = {**REFUSED, **HARMLESS}


def in_namespace(scene: Scene) -> Manifest:
    return {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}}


def on_pods() -> Manifest:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }


def a_policy(name: str, change: str) -> Manifest:
    op, path, value, _ = CHANGES[change]
    asked = f"object.metadata.?labels[?'{CHANGE}'].orValue('') == '{change}'"
    expression = f'[JSONPatch{{op: "{op}", path: "{path}", value: {value}}}]'
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [on_pods()]},
        "matchConditions": [{"name": "asked", "expression": asked}],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    return {"metadata": {"name": name}, "spec": spec}


def a_probe(change: str) -> Manifest:
    """A pod to which each of the changes can happen."""
    pod = a_gpu_pod("probe", "", gpus=1, cpu="1")
    del pod["spec"]["nodeName"]
    tolerations = [{"key": "none", "operator": "Exists"}]
    pod["spec"] |= {"affinity": {"nodeAffinity": {}}, "tolerations": tolerations}
    return {**pod, "metadata": {"name": "probe", "labels": {CHANGE: change, "kept": "yes"}}}


def seen_by_admission(scene: Scene, change: str) -> Manifest:
    """What becomes of such a pod, without its being made."""
    path = f"/api/v1/namespaces/{scene.namespace}/pods?dryRun=All"
    made = scene.api.create(path, a_probe(change))
    return {"labels": made["metadata"].get("labels"), "spec": _without_token(made["spec"])}


def _without_token(spec: Manifest) -> Manifest:
    """A pod's spec without what is made anew with each pod, such as the name of its token."""
    containers: list[Manifest] = [{**each, "volumeMounts": []} for each in spec["containers"]]
    return {**spec, "containers": containers, "volumes": []}


@pytest.fixture
def policies(scene: Scene) -> Iterator[Mapping[str, str]]:
    """Policies that change pods, by change; they are in force."""
    before = {change: seen_by_admission(scene, change) for change in CHANGES}
    names = {change: f"{change}-{scene.namespace}" for change in CHANGES}
    bound = {"namespaceSelector": in_namespace(scene)}
    for change, name in names.items():
        spec = {"policyName": name, "matchResources": bound}
        scene.api.create(f"{ADMISSION}/mutatingadmissionpolicies", a_policy(name, change))
        binding = {"metadata": {"name": name}, "spec": spec}
        scene.api.create(f"{ADMISSION}/mutatingadmissionpolicybindings", binding)
    wait_until(
        lambda: all(seen_by_admission(scene, each) != before[each] for each in CHANGES),
        timeout_seconds=SECONDS,
        what="the policies are in force",
    )
    yield names
    for name in names.values():
        remove(scene, name)


def remove(scene: Scene, policy: str) -> None:
    scene.api.delete(f"{ADMISSION}/mutatingadmissionpolicybindings/{policy}")
    scene.api.delete(f"{ADMISSION}/mutatingadmissionpolicies/{policy}")


def a_changed_job(change: str, *, cpu: str = "1") -> Manifest:
    return a_training_job(change, template=a_template({"cpu": cpu}, labels={CHANGE: change}))


def nothing_more_is_tried(scene: Scene) -> None:
    """The operator sees to another job, and makes and deletes no pods meanwhile."""
    before = scene.operator.metric("plimsoll_api_writes_total", resource="pods")
    other = a_training_job("other", gpus=99)
    scene.apply(other)
    scene.until(other, reason="CannotFit")
    assert scene.operator.metric("plimsoll_api_writes_total", resource="pods") == before


def test_what_a_plan_cannot_live_with_is_reported_and_heals_when_the_rule_goes(
    scene: Scene, policies: Mapping[str, str]
) -> None:
    scene.add_nodes(fake_node("node", gpus=8), fake_node("other", gpus=1))
    jobs = {change: a_changed_job(change) for change in REFUSED}
    scene.apply(*jobs.values())
    for change, job in jobs.items():
        status = scene.until(job, reason="PodRefused")
        assert REFUSED[change][-1] in status["message"]
        assert f"changes pod {change}-worker-0" in status["message"]
        assert "placement" not in status
        until_gone(scene, job)
    wait_until(
        lambda: not scene.api.items(f"/api/v1/namespaces/{scene.namespace}/pods"),
        timeout_seconds=SECONDS,
        what="no pod is left, not even one that has lost our labels",
    )
    nothing_more_is_tried(scene)
    for change in REFUSED:
        remove(scene, policies[change])
    wait_until(
        lambda: all(is_let_be(scene, change) for change in REFUSED),
        timeout_seconds=SECONDS,
        what="the policies are gone",
    )
    for job in jobs.values():
        scene.edit(job, {"work": {"amount": 1}})  # tries again at once, and not after a minute
    for job in jobs.values():
        scene.running(job)


def is_let_be(scene: Scene, change: str) -> bool:
    """Whether such a pod is no other than one that no rule is meant for."""
    found, plain = seen_by_admission(scene, change), seen_by_admission(scene, "none")
    labels = a_probe(change)["metadata"]["labels"]
    return found["labels"] == labels and found["spec"] == plain["spec"]


@pytest.mark.slow
@pytest.mark.usefixtures("policies")
def test_what_a_rule_adds_to_pods_is_counted_for_others(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=8, cpu="8"))
    larger = a_changed_job("cpu")
    scene.apply(larger, a_changed_job("toleration"), a_changed_job("label"))
    for change in HARMLESS:
        scene.running(a_changed_job(change))
    beside = a_training_job("beside", template=a_template({"cpu": "1"}))
    refused = a_training_job("refused", template=a_template({"cpu": "2"}))
    scene.apply(refused)
    status = scene.until(refused, reason="InsufficientResources")
    assert "nodes with such GPUs free have at most 0 CPU left" in status["message"]
    nothing_more_is_tried(scene)
    scene.delete(a_changed_job("label"), a_changed_job("toleration"))
    scene.running(refused)
    scene.delete(refused)
    scene.apply(beside)
    scene.running(beside)
    scene.delete(larger)


@pytest.mark.slow
def test_a_webhook_that_cannot_be_asked_is_reported_in_the_servers_words(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    name = f"down-{scene.namespace}.plimsoll.dev"
    webhook = {
        "name": name,
        "clientConfig": {"url": "https://127.0.0.1:1/mutate"},
        "rules": [on_pods()],
        "namespaceSelector": in_namespace(scene),
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = f"{ADMISSION}/mutatingwebhookconfigurations"
    scene.api.create(path, {"metadata": {"name": name}, "webhooks": [webhook]})
    wait_until(lambda: not _is_taken(scene), timeout_seconds=SECONDS, what="the webhook is asked")
    job = a_training_job("train")
    try:
        scene.apply(job)
        status = scene.until(job, reason="PodRefused")
        assert f'failed calling webhook "{name}"' in status["message"]
        assert "placement" not in status
        nothing_more_is_tried(scene)
    finally:
        scene.api.delete(f"{path}/{name}")
    wait_until(lambda: _is_taken(scene), timeout_seconds=SECONDS, what="it is asked no more")
    scene.edit(job, {"work": {"amount": 1}})
    assert name_of(scene.running(job).pods[0]) == "train-worker-0"


def _is_taken(scene: Scene) -> bool:
    try:
        seen_by_admission(scene, "none")
    except ApiServerRefusedError as error:
        return "failed calling webhook" not in str(error)
    return True
