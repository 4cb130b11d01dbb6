"""Pods that wait behind our gate are sent to nodes as they were watched, or else as they are."""

from pathlib import Path

import pytest

from plimsoll.acting.step import SentPod
from plimsoll.acting.writes.gated_pods import PodSender
from plimsoll.clock import SYSTEM
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import endpoint
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.views.pods import pod_view, wanted_node
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from support.objects.batch_jobs import GATE
from support.programs.asynchronous import asynchronous

WISH: Manifest = {
    "weight": 1,
    "preference": {"matchExpressions": [{"key": "z", "operator": "Exists"}]},
}


def a_gated_pod() -> Manifest:
    wishes = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [WISH]}}
    return {
        "metadata": {"name": "p", "labels": {"app": "train"}},
        "spec": {
            "schedulerName": "nobody",
            "schedulingGates": [{"name": "example.com/other"}, {"name": GATE}],
            "affinity": wishes,
            "containers": [{"name": "c", "image": "none"}],
        },
    }


async def sent(
    cluster: Cluster, api: ApiServer, namespace: str, edit: Manifest
) -> tuple[Manifest, list[str]]:
    """The pod that was edited after it was watched, and sent; and the methods of the requests."""
    heard: list[Pod] = []
    proxy, path = FaultyProxy(endpoint(Path(cluster.kubeconfig))), PODS.named("p", namespace)
    async with proxy.running() as server, KubeClient.to(server) as client:
        watched = await client.create(PODS.within(namespace), a_gated_pod(), Pod)
        if edit:
            api.merge(path.url, edit)
        before = len(proxy.requests)
        view = pod_view(watched, Requests())
        refusal = await PodSender(client, heard.append, SYSTEM).send(
            [SentPod(view, "n", {"a/b": "c"})]
        )
        methods = [each.split()[0] for each in [*proxy.requests][before:]]
    assert refusal == ""
    assert [wanted_node(pod) for pod in heard] == ["n"]
    return api.get(path.url), methods


@pytest.mark.parametrize(
    ("edit", "methods"),
    [
        ({}, ["PATCH"]),
        ({"metadata": {"labels": {"edited": "yes"}}}, ["PATCH", "GET", "PATCH"]),
    ],
)
@asynchronous
async def test_a_pod_is_read_only_if_it_has_changed(
    control_plane: Cluster, api: ApiServer, namespace: str, edit: Manifest, methods: list[str]
) -> None:
    pod, asked = await sent(control_plane, api, namespace, edit)
    assert asked == methods
    labels = edit.get("metadata", {}).get("labels", {})
    assert pod["metadata"]["labels"].items() >= {"app": "train", "a/b": "c", **labels}.items()
    assert pod["spec"]["schedulingGates"] == [{"name": "example.com/other"}]
    by_node = pod["spec"]["affinity"]["nodeAffinity"]
    assert by_node["preferredDuringSchedulingIgnoredDuringExecution"] == [WISH]
    assert {"nvidia.com/gpu", "amd.com/gpu"} <= {each["key"] for each in pod["spec"]["tolerations"]}
