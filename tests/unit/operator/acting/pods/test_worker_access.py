from typing import Any

from plimsoll.acting.pods.manifest import Gang, Manifest, PodPlacement, pod_manifest
from plimsoll.acting.pods.worker_access import FOLDER, with_access
from support.clusters.pod_lives import environment
from support.clusters.seen import seen
from support.objects.job_manifests import a_template, a_training_job

URL = "http://plimsoll-workers.plimsoll-system.svc:8081"
PLACEMENT = PodPlacement("worker", 0, 0, 1, "node-1", "nvidia.com/gpu", 1)


def pod(template: Manifest | None = None) -> Manifest:
    [view] = seen(a_training_job("train", template=template)).jobs
    return pod_manifest(view.resource, PLACEMENT, Gang({"worker": 1}))


def template_with(**container: Any) -> Manifest:  # noqa: ANN401 - fields of a container
    template = a_template()
    template["spec"]["containers"][0] |= container
    return template


def test_each_container_gets_the_address_and_a_token_of_its_own_pod() -> None:
    template = a_template()
    template["spec"]["containers"].append({"name": "logs", "image": "logs:1"})
    made = with_access(pod(template), URL)
    [volume] = made["spec"]["volumes"]
    token = volume["projected"]["sources"][0]["serviceAccountToken"]
    assert token == {"audience": "plimsoll.dev", "expirationSeconds": 3600, "path": "token"}
    assert environment(made)["PLIMSOLL_WORKER_URL"] == URL
    assert environment(made)["PLIMSOLL_TOKEN_FILE"] == f"{FOLDER}/token"
    for container in made["spec"]["containers"]:
        mount = {"name": volume["name"], "mountPath": FOLDER, "readOnly": True}
        assert container["volumeMounts"] == [mount]


def test_without_an_address_there_is_no_token() -> None:
    assert with_access(pod(), "") == pod()


def test_what_the_user_mounts_and_sets_stays() -> None:
    own = {"name": "data", "mountPath": "/data"}
    given = [{"name": "PLIMSOLL_WORKER_URL", "value": "http://mine"}]
    template = template_with(volumeMounts=[own], env=given)
    template["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    made = with_access(pod(template), URL)
    assert made["spec"]["containers"][0]["volumeMounts"][0] == own
    assert [volume["name"] for volume in made["spec"]["volumes"]] == ["data", "plimsoll-token"]
    assert environment(made)["PLIMSOLL_WORKER_URL"] == "http://mine"


def test_a_place_that_the_user_has_taken_is_left_to_them() -> None:
    taken = template_with(volumeMounts=[{"name": "mine", "mountPath": FOLDER}])
    assert with_access(pod(taken), URL)["spec"]["containers"] == pod(taken)["spec"]["containers"]
    named = a_template()
    named["spec"]["volumes"] = [{"name": "plimsoll-token", "emptyDir": {}}]
    assert with_access(pod(named), URL) == pod(named)
