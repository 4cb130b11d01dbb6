"""The chart's rights are just those that the operator uses: none is missing, none is too much."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from plimsoll.api.definition import API_VERSION
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.kube.events import EventRecorder, EventTerms, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint, endpoint
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES, add_nodes, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.karpenter.instance_types import ONE_L4
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS, Karpenter
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.processes.credentials import kubeconfig, write_secret
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.proxies.fault_kinds import Armed, Fault
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights
from plimsoll_devcluster.waiting import wait_until
from support.clusters.bought_nodes import a_pool_of
from support.clusters.cluster_autoscaler import ClusterAutoscaler
from support.clusters.node_claims import NodeClaims
from support.clusters.scene import Scene
from support.clusters.target_lives import a_targeting_job, a_workload
from support.clusters.workload_lives import (
    adopted,
    create_workload,
    patch_workload,
    stand_in_of,
    stand_in_path,
    workload_path,
)
from support.objects.batch_jobs import QUEUE, a_batch_job
from support.objects.bought_nodes import an_autoscaled_pool
from support.objects.http_routes import API_VERSION as ROUTE_API
from support.objects.http_routes import a_route, weights
from support.objects.job_manifests import an_inference_job
from support.objects.manifests import training_job
from support.objects.pod_groups import a_grouped_pod, a_pod_group, gated
from support.objects.workloads import KINDS, a_workload_of, asking, suspended
from support.programs.asynchronous import asynchronous, until
from support.project.rights import Right, cluster_rules, granted, needed, own_rules
from support.servers.worker_endpoint import a_token

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CLUSTER_RULES = cluster_rules()
OWN_RULES = own_rules()
SEARCH_SECONDS = 90


@pytest.fixture
def token(api: ApiServer, namespace: str) -> Iterator[str]:
    """What proves that one is a ServiceAccount with the chart's rights."""
    name = f"plimsoll-{namespace}"
    yield add_account(api, name, namespace, cluster_rules=CLUSTER_RULES, own_rules=OWN_RULES)
    remove_cluster_rights(api, name)


@pytest.fixture
def _cluster_of_the_examples(api: ApiServer) -> None:
    """Two unlike nodes, and the pools, queues, domains and the policy of the examples."""
    add_nodes(api, [fake_node("big"), fake_node("small", "Tesla-T4", 1)])
    for document in manifests_in((ROOT / "examples" / "cluster.yaml").read_text()):
        if document["kind"] != "Node":
            apply(api, document)


def apply(api: ApiServer, manifest: dict[str, Any], namespace: str = "") -> str:
    """Make an object of ours, or a PriorityClass, and return its path."""
    kind = KIND_BY_NAME.get(manifest["kind"])
    plural = kind.definition.plural if kind else "priorityclasses"
    place = f"namespaces/{namespace}/{plural}" if namespace else plural
    path = f"/apis/{manifest['apiVersion']}/{place}/{manifest['metadata']['name']}"
    api.apply(path, manifest)
    return path


def example(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "examples" / "jobs" / f"{name}.yaml").read_text())


def named(name: str, *, workers: int) -> dict[str, Any]:
    """A training job of that many workers."""
    job = training_job()
    job["metadata"]["name"] = name
    job["spec"]["workers"] |= {"min": workers, "max": workers}
    return job


@asynccontextmanager
async def operator_behind(
    proxy: FaultyProxy, cluster: Cluster, folder: Path, token: str, namespace: str
) -> AsyncGenerator[tuple[Endpoint, OperatorProcess]]:
    """Run the operator with the rights of the token; how else one could ask with these, and it."""
    async with proxy.running() as door:
        config = folder / "kubeconfig"
        write_secret(config, kubeconfig(server=door.server, certificate=None, token=token))
        environment = {
            "KUBECONFIG": str(config),
            "PLIMSOLL_NAMESPACE": namespace,
            "PLIMSOLL_ADOPTS_JOBS": "true",
            "PLIMSOLL_BUYS_NODES": "true",
            "PLIMSOLL_REQUESTS_NODES": "true",
            "PLIMSOLL_WEIGHS_ROUTES": "true",
            "PLIMSOLL_LEDGER_LEASE": "plimsoll-ledger",
        }
        operator = OperatorProcess(cluster.kubeconfig, environment)
        try:
            await asyncio.to_thread(operator.start)
            yield endpoint(config), operator
        except Exception as error:
            error.add_note(operator.log.read_text()[-4000:])
            raise
        finally:
            await asyncio.to_thread(operator.kill)


def drained_service() -> dict[str, Any]:
    """A service whose pods have a gate."""
    return an_inference_job("serve", queue="research", role={"drain": "1s"})


def is_running(api: ApiServer, job: str) -> bool:
    return api.get(job).get("status", {}).get("reason") == "Running"


def use_all_rights(api: ApiServer, namespace: str) -> None:
    """Have the operator do all that it ever does for jobs."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    taken = {"containers": [{"name": "main", "image": "none"}]}
    api.create(pods, {"metadata": {"name": "clash-worker-0"}, "spec": taken})
    quarantine = "plimsoll.dev/quarantine"
    over = {"key": quarantine, "value": "until-20260101T000000Z", "effect": "NoSchedule"}
    api.merge(f"{NODES}/small", {"spec": {"taints": [over]}})
    jobs = (example("train-one-gpu"), named("gang", workers=2), named("clash", workers=1))
    small, gang, _ = (apply(api, job, namespace) for job in jobs)
    service = apply(api, drained_service(), namespace)
    targeting = [target(api, kind, namespace) for kind in ("Deployment", "StatefulSet")]
    wait_until(partial(is_running, api, small), timeout_seconds=SEARCH_SECONDS, what="it runs")
    wait_until(partial(is_running, api, gang), timeout_seconds=SEARCH_SECONDS, what="both run")
    for job in targeting:
        wait_until(partial(is_running, api, job), timeout_seconds=SEARCH_SECONDS, what="it runs")
    wait_until(partial(is_running, api, service), timeout_seconds=SEARCH_SECONDS, what="it serves")
    weigh_a_route(api, namespace)
    api.merge(gang, {"spec": {"suspend": True}})
    api.merge(service, {"spec": {"suspend": True}})
    wait_until(lambda: not is_running(api, gang), timeout_seconds=SEARCH_SECONDS, what="it stops")
    wait_until(
        lambda: not api.get(f"{NODES}/small")["spec"].get("taints"),
        timeout_seconds=SEARCH_SECONDS,
        what="the node is released",
    )
    api.merge(gang, {"spec": {"suspend": False}})  # it finds the Service that it had before


def adopt(scene: Scene) -> None:
    """Have the operator plan a Job, hear of its checkpoints, and remove what stood for it."""
    job = a_batch_job(held=False, suspend=True, workers=1)
    scene.running(adopted(scene, job))
    said = {"metadata": {"annotations": {"plimsoll.dev/checkpoint.interval": "5m"}}}
    patch_workload(scene, job, said)
    wait_until(
        lambda: scene.api.get(stand_in_path(scene, job))["spec"]["checkpoint"]["interval"] == "5m",
        timeout_seconds=SEARCH_SECONDS,
        what="what stands for the Job says so too",
    )
    scene.api.delete(f"{workload_path(scene, job)}?propagationPolicy=Orphan")
    wait_until(
        lambda: not scene.api.exists(stand_in_path(scene, job)),
        timeout_seconds=SEARCH_SECONDS,
        what="nothing stands for the Job",
    )


def adopt_other_kinds(scene: Scene) -> None:
    """Have the operator plan a workload of each other kind that it may hold."""
    for kind in KINDS:
        workload = suspended(asking(a_workload_of(kind)))
        workload["metadata"]["name"] = kind.lower()
        create_workload(scene, workload)
        path = scene.path("TrainingJob", stand_in_of(workload)["metadata"]["name"])
        wait_until(
            lambda path=path: scene.api.exists(path),
            timeout_seconds=SEARCH_SECONDS,
            what=f"a TrainingJob stands for the {kind}",
        )


def adopt_plain_pods(scene: Scene) -> None:
    """Have the operator plan a PodGroup, and remove what stood for it."""
    group = a_pod_group(size=1)
    scene.api.create(f"/api/v1/namespaces/{scene.namespace}/pods", gated(a_grouped_pod(0)))
    adopted(scene, group)
    patch_workload(scene, group, {"metadata": {"labels": {QUEUE: None}}})
    wait_until(
        lambda: not scene.api.exists(stand_in_path(scene, group)),
        timeout_seconds=SEARCH_SECONDS,
        what="nothing stands for the PodGroup",
    )


def buy_a_node(scene: Scene) -> None:
    """Have the operator order a node, and give it back."""
    NodeClaims(scene.api, scene.namespace).set_boot_time(0)
    pool = a_pool_of("bought", ONE_L4, min=1, idleTime="1s")
    # No job here tolerates that, so the node is idle.
    taint = {"key": "example.com/nobody", "effect": "NoSchedule"}
    pool["spec"]["provisioning"]["nodeClaim"]["spec"]["taints"] = [taint]
    scene.apply(pool)
    scene.until(pool, nodesReady=1)
    scene.edit(pool, {"provisioning": {"min": 0}})
    wait_until(
        lambda: not scene.api.items(NODE_CLAIMS),
        timeout_seconds=SEARCH_SECONDS,
        what="the node is given back",
    )


def request_a_node(scene: Scene) -> None:
    """Have the operator request a node that cannot be had, and withdraw that."""
    # The first by name: a pool of the examples selects the same GPUs.
    name = "a-request"
    scene.apply(an_autoscaled_pool(name, provisioning={"min": 1}))
    autoscaler = ClusterAutoscaler(scene.api, namespace=scene.namespace)
    autoscaler.group(name).room = 0
    wait_until(autoscaler.names, timeout_seconds=SEARCH_SECONDS, what="a node is requested")

    def all_have_failed_and_are_gone() -> bool:
        autoscaler.scan()  # jobs that wait may have asked for more meanwhile
        return not autoscaler.names()

    wait_until(all_have_failed_and_are_gone, timeout_seconds=SEARCH_SECONDS, what="it is withdrawn")


def weigh_a_route(api: ApiServer, namespace: str) -> None:
    """Have the operator set the weights of a route to the service that runs."""
    route = a_route({"a": 1, "b": 1}, backends=f"a={H100}, b={H100}")
    routes = f"/apis/{ROUTE_API}/namespaces/{namespace}/httproutes"
    api.create(routes, route)
    wait_until(
        lambda: weights(api.get(f"{routes}/chat")) == [{"a": 100, "b": 100}],
        timeout_seconds=SEARCH_SECONDS,
        what="the route has weights",
    )


def target(api: ApiServer, kind: str, namespace: str) -> str:
    """Have the operator scale a workload, and place its pods; the path of the job."""
    name = kind.lower()
    workload = a_workload(kind, name, gated=True)
    api.create(f"/apis/apps/v1/namespaces/{namespace}/{name}s", workload)
    return apply(api, a_targeting_job(name, target=workload, replicas=2), namespace)


def report_without_a_right(operator: OperatorProcess, worker: Manifest) -> None:
    """Have the operator ask whose the token of somebody is who says to be a worker."""
    meta = worker["metadata"]
    bound = {"name": meta["name"], "uid": meta["uid"]}
    claims: dict[str, Any] = {
        "sub": f"system:serviceaccount:{meta['namespace']}:default",
        "kubernetes.io": {"namespace": meta["namespace"], "pod": bound},
    }
    forged = {"Authorization": f"Bearer {a_token('', sign='forged', **claims)}"}
    url = f"{operator.worker_url}/v1/report"
    assert urllib3.request("POST", url, json={"job": "train"}, headers=forged).status == 401


async def say_twice(server: Endpoint, namespace: str, is_counted: Callable[[], bool]) -> None:
    """Record an event twice, as happens over minutes, with windows of a second."""
    subject = Subject(API_VERSION, "TrainingJob", "small", secrets.token_hex(8), namespace)
    saying = Saying(subject, Reason.RESTARTING, "the gang restarts")
    async with KubeClient.to(server) as client, asyncio.TaskGroup() as group:
        recorder = EventRecorder(client, terms=EventTerms(window_seconds=1))
        running = group.create_task(recorder.run())
        recorder.record(saying)
        recorder.record(saying)
        await until(is_counted)
        running.cancel()


@pytest.mark.usefixtures(
    "all_controllers", "provisioning_requests", "http_routes", "_cluster_of_the_examples"
)
@asynchronous
async def test_the_operator_has_just_the_rights_that_it_uses(  # noqa: PLR0913, PLR0917 - fixtures
    karpenter: Karpenter,
    control_plane: Cluster,
    api: ApiServer,
    namespace: str,
    token: str,
    tmp_path: Path,
) -> None:
    del karpenter  # it makes the nodes that are bought
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    for edited in ("trainingjobs/gang", "inferencejobs/serve"):
        proxy.arm(Armed(Fault.CONFLICT, 1, within=f"/{edited}/status"))
    given = granted([*CLUSTER_RULES, *OWN_RULES])

    def used() -> set[Right]:
        return needed(proxy.requests)

    async with operator_behind(proxy, control_plane, tmp_path, token, namespace) as (door, process):
        await asyncio.to_thread(use_all_rights, api, namespace)
        await asyncio.to_thread(adopt, Scene(api, namespace))
        await asyncio.to_thread(adopt_other_kinds, Scene(api, namespace))
        await asyncio.to_thread(adopt_plain_pods, Scene(api, namespace))
        await asyncio.to_thread(buy_a_node, Scene(api, namespace))
        await asyncio.to_thread(request_a_node, Scene(api, namespace))
        worker = api.get(f"/api/v1/namespaces/{namespace}/pods/finetune-bert-worker-0")
        await asyncio.to_thread(report_without_a_right, process, worker)
        await say_twice(door, namespace, lambda: Right("patch", "events") in used())
        with suppress(AssertionError):  # what is not used by then is reported below
            await until(lambda: given <= used())
    assert not proxy.forbidden
    assert used() == given
