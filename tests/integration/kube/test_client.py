import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from plimsoll.errors import (
    AlreadyExists,
    Conflict,
    Invalid,
    NotFound,
    NotLeader,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from plimsoll.kube.http.client import Deletion, KubeClient, Selection
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import NAMESPACES, PODS
from plimsoll.kube.http.transport import Limits
from plimsoll.kube.objects.objects import KubeObject, Pod
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights
from plimsoll_devcluster.waiting import PATIENCE
from support.objects.config_maps import CONFIG_MAPS, ConfigMap
from support.programs.asynchronous import asynchronous, until

FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
MAKES_CONFIG_MAPS = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]


def a_pod(name: str = "p", *, node: str = "") -> dict[str, object]:
    # No scheduler looks at it, so that nobody else writes its status.
    spec = {
        "nodeName": node,
        "schedulerName": "nobody",
        "containers": [{"name": "c", "image": "none"}],
    }
    return {"metadata": {"name": name}, "spec": spec}


def writes(verb: str, resource: str) -> float:
    labels = {"verb": verb, "resource": resource}
    return REGISTRY.get_sample_value("plimsoll_api_writes_total", labels) or 0.0


@asynchronous
async def test_an_object_is_created_read_changed_and_deleted(
    server: Endpoint, namespace: str
) -> None:
    maps, path = CONFIG_MAPS.within(namespace), CONFIG_MAPS.named("m", namespace)
    async with KubeClient.to(server) as client:
        made = await client.create(maps, {"metadata": {"name": "m"}, "data": {"a": "1"}}, ConfigMap)
        assert await client.get(path, ConfigMap) == made
        merged = await client.merge_patch(path, {"data": {"b": "2"}}, ConfigMap)
        assert merged.data == {"a": "1", "b": "2"}
        operations = [{"op": "remove", "path": "/data/a"}]
        assert (await client.json_patch(path, operations, ConfigMap)).data == {"b": "2"}
        whole = {"metadata": {"name": "m"}, "data": {"c": "3"}}
        assert (await client.replace(path, whole, ConfigMap)).data == {"c": "3"}
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"c": "4"}}
        assert (await client.apply(path, applied, ConfigMap)).data == {"c": "4"}
        await client.delete(path, ConfigMap)
        with pytest.raises(NotFound, match='configmaps "m" not found'):
            await client.get(path, ConfigMap)


@asynchronous
async def test_each_refusal_is_its_own_error(server: Endpoint, namespace: str) -> None:
    pods, path = PODS.within(namespace), PODS.named("p", namespace)
    async with KubeClient.to(server) as client:
        made = await client.create(pods, a_pod(), Pod)
        with pytest.raises(AlreadyExists):
            await client.create(pods, a_pod(), Pod)
        with pytest.raises(Invalid, match=r"spec\.containers"):
            await client.create(pods, {"metadata": {"name": "q"}, "spec": {}}, Pod)
        stale = {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}
        with pytest.raises(Conflict):
            await client.merge_patch(path, stale, Pod)
        with pytest.raises(Conflict):
            await client.delete(path, Pod, Deletion(uid="another"))
        with pytest.raises(Conflict):
            await client.delete(path, Pod, Deletion(uid=made.metadata.uid, resource_version="1"))
        nobody = replace(server, authorization=lambda: "Bearer nonsense")
        async with KubeClient.to(nobody) as stranger:
            with pytest.raises(Unauthorized):
                await stranger.get(path, Pod)


@asynchronous
async def test_a_status_is_written_only_over_the_version_that_it_was_made_for(
    server: Endpoint, namespace: str
) -> None:
    status = PODS.named("p", namespace, "status")
    async with KubeClient.to(server) as client:
        old = await client.create(PODS.within(namespace), a_pod(), Pod)
        version = old.metadata.resource_version
        written = await client.patch_status(
            status, {"message": "first"}, Pod, resource_version=version
        )
        assert written.status.message == "first"
        with pytest.raises(Conflict):
            await client.patch_status(status, {"message": "second"}, Pod, resource_version=version)


@asynchronous
async def test_a_pod_with_a_grace_period_is_shown_as_leaving(
    server: Endpoint, namespace: str, a_node: str
) -> None:
    path = PODS.named("p", namespace)
    async with KubeClient.to(server) as client:
        await client.create(PODS.within(namespace), a_pod(node=a_node), Pod)
        leaving = await client.delete(path, Pod, Deletion(grace_seconds=30))
        assert leaving is not None
        assert leaving.metadata.deletion_timestamp is not None


@asynchronous
async def test_what_another_removes_at_the_same_moment_is_shown_to_nobody(
    server: Endpoint, namespace: str
) -> None:
    proxy = FaultyProxy(server)
    unversioned = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}
    proxy.answers = [web.json_response(unversioned)]
    async with proxy.running() as endpoint, KubeClient.to(endpoint) as client:
        assert await client.delete(PODS.named("p", namespace), Pod) is None


@asynchronous
async def test_a_list_comes_in_pages_of_one_version(server: Endpoint, namespace: str) -> None:
    maps = CONFIG_MAPS.within(namespace)
    chosen = Selection(labels="of=test")
    async with KubeClient.to(server) as client:
        for number in range(7):
            meta = {"name": f"m{number}", "labels": {"of": "test"}}
            await client.create(maps, {"metadata": meta}, ConfigMap)
        pages = [p async for p in client.pages(maps, ConfigMap, selection=chosen, page_size=3)]
        assert [len(page.items or ()) for page in pages] == [3, 3, 1]
        assert len({page.metadata.resource_version for page in pages}) == 1
        found = await client.list_all(
            maps, ConfigMap, selection=Selection(fields="metadata.name=m3")
        )
        assert [item.metadata.name for item in found] == ["m3"]


@asynchronous
async def test_writes_are_counted_by_verb_and_resource(server: Endpoint, namespace: str) -> None:
    before = writes("create", "configmaps"), writes("patch", "pods/status")
    async with KubeClient.to(server) as client:
        await client.create(CONFIG_MAPS.within(namespace), {"metadata": {"name": "m"}}, ConfigMap)
        await client.create(PODS.within(namespace), a_pod(), Pod)
        await client.get(PODS.named("p", namespace), Pod)
        path = PODS.named("p", namespace, "status")
        await client.merge_patch(path, {"status": {"message": "m"}}, Pod)
    assert writes("create", "configmaps") == before[0] + 1
    assert writes("patch", "pods/status") == before[1] + 1


@asynchronous
async def test_nothing_is_sent_behind_a_shut_fence(server: Endpoint, namespace: str) -> None:
    proxy, leads = FaultyProxy(server), True
    async with (
        proxy.running() as endpoint,
        KubeClient.to(endpoint, may_write=lambda: leads) as client,
    ):
        maps, path = CONFIG_MAPS.within(namespace), CONFIG_MAPS.named("m", namespace)
        await client.create(maps, {"metadata": {"name": "m"}}, ConfigMap)
        leads = False
        before, sent = writes("patch", "configmaps"), len(proxy.requests)
        for write in (
            client.create(maps, {"metadata": {"name": "n"}}, ConfigMap),
            client.merge_patch(path, {"data": {"a": "1"}}, ConfigMap),
            client.delete(path, ConfigMap),
        ):
            with pytest.raises(NotLeader):
                await write
        assert len(proxy.requests) == sent
        assert writes("patch", "configmaps") == before
        assert (await client.get(path, ConfigMap)).data == {}


@asynchronous
async def test_the_fence_is_asked_when_a_writes_turn_comes_and_not_before(
    server: Endpoint, namespace: str
) -> None:
    proxy, leads = FaultyProxy(server), True
    proxy.fall_silent()
    async with (
        proxy.running() as endpoint,
        KubeClient.to(endpoint, may_write=lambda: leads, limits=Limits(writes_at_once=1)) as client,
    ):
        maps = CONFIG_MAPS.within(namespace)
        first, second = (
            asyncio.create_task(client.create(maps, {"metadata": {"name": name}}, ConfigMap))
            for name in ("first", "second")
        )
        await until(lambda: proxy.requests)
        leads = False
        proxy.speak()
        await first
        with pytest.raises(NotLeader):
            await second


async def a_request(client: KubeClient) -> None:
    await client.get(NAMESPACES.named("default"), KubeObject)


@asynccontextmanager
async def through(proxy: FaultyProxy, limits: Limits) -> AsyncGenerator[KubeClient]:
    async with proxy.running() as endpoint, KubeClient.to(endpoint, limits=limits) as client:
        yield client


def refused(status: int, reason: str, **headers: str) -> web.Response:
    return web.json_response({"reason": reason, "message": "no"}, status=status, headers=headers)


QUICK = Limits(request_seconds=10, first_retry_seconds=0.01, attempts=3)


@asynchronous
async def test_a_read_survives_what_passes(server: Endpoint) -> None:
    proxy = FaultyProxy(server)
    proxy.answers = [refused(500, "InternalError"), refused(503, "ServiceUnavailable")]
    async with through(proxy, QUICK) as client:
        await a_request(client)
    assert len(proxy.requests) == 3


@asynchronous
async def test_a_read_is_given_up_after_its_attempts(server: Endpoint) -> None:
    proxy = FaultyProxy(server)
    proxy.answers = [refused(500, "InternalError") for _ in range(3)]
    async with through(proxy, QUICK) as client:
        with pytest.raises(Unavailable):
            await a_request(client)
    assert len(proxy.requests) == 3


@asynchronous
async def test_a_write_that_failed_is_not_sent_again(server: Endpoint, namespace: str) -> None:
    proxy = FaultyProxy(server)
    proxy.answers = [refused(500, "InternalError")]
    async with through(proxy, QUICK) as client:
        with pytest.raises(Unavailable):
            await client.create(PODS.within(namespace), a_pod(), Pod)
    assert len(proxy.requests) == 1


@asynchronous
async def test_a_write_waits_as_long_as_the_server_asks(server: Endpoint, namespace: str) -> None:
    proxy = FaultyProxy(server)
    proxy.answers = [refused(429, "TooManyRequests", **{"Retry-After": "1"})]
    begun = time.monotonic()
    async with through(proxy, QUICK) as client:
        await client.create(PODS.within(namespace), a_pod(), Pod)
    assert time.monotonic() - begun >= 1
    assert len(proxy.requests) == 2


@asynchronous
async def test_writes_are_no_faster_than_they_may_be(server: Endpoint, namespace: str) -> None:
    proxy = FaultyProxy(server)
    async with through(proxy, Limits(writes_per_second=20)) as client:
        begun = time.monotonic()
        path = CONFIG_MAPS.within(namespace)
        await asyncio.gather(
            *(client.create(path, {"metadata": {"name": f"m-{i}"}}, ConfigMap) for i in range(50))
        )
    assert time.monotonic() - begun >= (50 - 20) / 20
    assert len(proxy.requests) == 50


@pytest.fixture
def narrow(api: ApiServer, server: Endpoint, namespace: str) -> Iterator[Endpoint]:
    """How a service account asks of which priority and fairness takes one request at a time.

    It turns away whoever comes meanwhile.
    """
    token = add_account(api, namespace, namespace, cluster_rules=[], own_rules=MAKES_CONFIG_MAPS)
    head = {"metadata": {"name": namespace}}
    shut = {"nominalConcurrencyShares": 0, "borrowingLimitPercent": 0}
    limited = {"type": "Limited", "limited": {**shut, "limitResponse": {"type": "Reject"}}}
    api.create(f"{FLOW}/prioritylevelconfigurations", {**head, "spec": limited})
    account = {"name": namespace, "namespace": namespace}
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
    schema = {
        "priorityLevelConfiguration": {"name": namespace},
        "matchingPrecedence": 500,
        "rules": [
            {
                "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
                "resourceRules": [everything],
            }
        ],
    }
    api.create(f"{FLOW}/flowschemas", {**head, "spec": schema})
    yield replace(server, authorization=lambda: f"Bearer {token}")
    api.delete(f"{FLOW}/flowschemas/{namespace}")
    api.delete(f"{FLOW}/prioritylevelconfigurations/{namespace}")
    remove_cluster_rights(api, namespace)


@asynchronous
async def test_what_priority_and_fairness_turns_away_is_sent_again_until_all_is_done(
    narrow: Endpoint, namespace: str
) -> None:
    path, before = CONFIG_MAPS.within(namespace), turned_away()
    async with KubeClient.to(narrow, limits=Limits(attempts=30)) as client:
        burst = 0
        while turned_away() == before and burst < 500:  # it takes a moment until it is in force
            names = (f"m-{burst}-{number}" for number in range(12))
            bodies = ({"metadata": {"name": name}} for name in names)
            made = await asyncio.gather(*(client.create(path, body, ConfigMap) for body in bodies))
            assert len({each.metadata.uid for each in made}) == 12
            burst += 1
    assert turned_away() > before


def turned_away() -> float:
    labels = {"verb": "create", "resource": "configmaps", "error": "TooManyRequests"}
    return REGISTRY.get_sample_value("plimsoll_api_errors_total", labels) or 0.0


@asynchronous
async def test_a_server_that_stays_busy_is_an_error(server: Endpoint, namespace: str) -> None:
    proxy = FaultyProxy(server)
    proxy.answers = [refused(429, "TooManyRequests") for _ in range(2)]
    async with through(proxy, Limits(attempts=2, longest_retry_seconds=0.01)) as client:
        with pytest.raises(TooManyRequests):
            await client.create(PODS.within(namespace), a_pod(), Pod)


@asynchronous
async def test_a_server_that_says_nothing_is_unavailable_in_time(server: Endpoint) -> None:
    proxy = FaultyProxy(server)
    proxy.fall_silent()
    async with through(proxy, Limits(request_seconds=0.2, attempts=1)) as client:
        begun = time.monotonic()
        with pytest.raises(Unavailable, match="in time"):
            await a_request(client)
        assert time.monotonic() - begun < 2 * PATIENCE


@asynchronous
async def test_a_server_that_is_not_there_is_unavailable(server: Endpoint) -> None:
    nowhere = replace(server, server="http://127.0.0.1:1")
    async with KubeClient.to(nowhere, limits=QUICK) as client:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await a_request(client)
