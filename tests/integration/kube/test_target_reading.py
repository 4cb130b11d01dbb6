import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from plimsoll.errors import Conflict
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.watching.target_reading import TARGET_LIMITS, Workloads
from plimsoll.kube.watching.workloads import Reference
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from support.clusters.target_lives import a_workload
from support.programs.asynchronous import asynchronous

DEPLOYMENTS = Resource("apps", "v1", "deployments")
CONTROLLERS = Resource("", "v1", "replicationcontrollers")


@asynccontextmanager
async def a_deployment(
    server: Endpoint, namespace: str, replicas: int
) -> AsyncGenerator[tuple[KubeClient, Reference]]:
    async with KubeClient.to(server, limits=TARGET_LIMITS) as client:
        workload = a_workload(replicas=replicas)
        await client.create(DEPLOYMENTS.within(namespace), workload, KubeObject)
        yield client, Reference(namespace, "apps/v1", "Deployment", "web")


async def count(client: KubeClient, reference: Reference) -> int:
    return (await Workloads(client).read(reference, None)).scale.spec.replicas


@asynchronous
async def test_a_count_is_set_only_where_it_still_is_what_was_seen(
    server: Endpoint, namespace: str
) -> None:
    async with a_deployment(server, namespace, 2) as (client, reference):
        with pytest.raises(Conflict, match="has 2 replicas, no longer 1"):
            await Workloads(client).scale(reference, seen=1, replicas=5)
        assert await count(client, reference) == 2
        await Workloads(client).scale(reference, seen=2, replicas=0)
        assert await count(client, reference) == 0


@asynchronous
async def test_a_count_that_another_sets_in_the_same_moment_is_not_overwritten(
    server: Endpoint, namespace: str
) -> None:
    """Of many who each set another count in the place of the one that they saw, one does."""
    async with a_deployment(server, namespace, 0) as (client, reference):
        writes = (Workloads(client).scale(reference, seen=0, replicas=n) for n in range(1, 9))
        ends = await asyncio.gather(*writes, return_exceptions=True)
        (written,) = [end for end in ends if not isinstance(end, BaseException)]
        assert all(isinstance(end, Conflict) for end in ends if end is not written)
        assert await count(client, reference) == written.spec.replicas


@asynchronous
async def test_what_others_write_besides_the_count_does_not_keep_it_from_being_set(
    server: Endpoint, namespace: str
) -> None:
    async with a_deployment(server, namespace, 0) as (client, reference):
        path = DEPLOYMENTS.named("web", namespace)
        counts = [0, 1, 2, 3, 4, 5]

        async def label() -> None:
            for number in range(20):
                labels = {"metadata": {"labels": {"number": str(number)}}}
                await client.merge_patch(path, labels, KubeObject)

        async def scale() -> None:
            for seen, replicas in pairwise(counts):
                await Workloads(client).scale(reference, seen=seen, replicas=replicas)

        await asyncio.gather(label(), scale())
        assert await count(client, reference) == counts[-1]


NOWHERE = {
    "pods by way of a version": ("../api/v1/pods", "Deployment", "web"),
    "pods by way of a group": ("apps/v1/../../../api/v1/pods", "Deployment", "web"),
    "pods by way of a name": ("apps/v1", "Deployment", "../../../../../../api/v1/pods"),
    "a query": ("apps/v1?a=", "Deployment", "web?watch=true"),
    "what is encoded already": ("%2e%2e/v1", "Deployment", "%2e%2e"),
    "pods": ("v1", "Pod", "web"),
    "secrets": ("v1", "Secret", "web"),
    "nodes": ("v1", "Node", "web"),
}


@pytest.mark.parametrize("names", NOWHERE.values(), ids=NOWHERE.keys())
@asynchronous
async def test_nothing_but_what_can_be_scaled_is_read(
    server: Endpoint, namespace: str, names: tuple[str, str, str]
) -> None:
    proxy = FaultyProxy(server)
    async with proxy.running() as door, KubeClient.to(door, limits=TARGET_LIMITS) as client:
        reading = await Workloads(client).read(Reference(namespace, *names), None)
    assert reading.problem
    within = f"/namespaces/{namespace}/deployments/"
    assert all(is_discovery(request) or within in request for request in proxy.requests)


def is_discovery(request: str) -> bool:
    """Whether no object is asked for, only which kinds there are."""
    path = request.partition(" ")[2]
    return path.startswith(("/apis/", "/api/")) and "/namespaces/" not in path


@asynchronous
async def test_a_replication_controller_can_be_read(server: Endpoint, namespace: str) -> None:
    whole = a_workload(name="old", replicas=0)
    spec: Manifest = {**whole["spec"], "selector": {"app": "old"}}
    del spec["strategy"]
    old = {"metadata": {"name": "old"}, "spec": spec}
    async with KubeClient.to(server, limits=TARGET_LIMITS) as client:
        await client.create(CONTROLLERS.within(namespace), old, KubeObject)
        reference = Reference(namespace, "v1", "ReplicationController", "old")
        reading = await Workloads(client).read(reference, None)
    assert not reading.problem
    assert reading.scale.status.selector == "app=old"
