"""The twin's API server answers as a real one does, as far as the operator and its cluster ask."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from plimsoll.errors import ApiError
from plimsoll.kube.http.client import Deletion, KubeClient, Selection
from plimsoll.kube.http.credentials import endpoint
from plimsoll.kube.http.resources import NODES, PODS, ApiPath, Resource
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from plimsoll_simulator.cluster.api_server import ApiServer as TwinApiServer
from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.twin import BEGINS
from plimsoll_simulator.virtual_time import VirtualTimeLoop, clock_of
from support.objects.job_manifests import a_training_job

JOBS = Resource("plimsoll.dev", "v1alpha1", "trainingjobs")
NODE = "twin-node"
Said = list[tuple[str, object]]


def a_pod(name: str, *, node: str = "", labels: dict[str, str] | None = None) -> Manifest:
    # No scheduler looks at it, and nobody else writes its status.
    limits = {"nvidia.com/gpu": "1", "memory": "1Gi"}
    container = {"name": "c", "image": "none", "resources": {"limits": limits}}
    spec = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {**spec, "schedulerName": "nobody", "containers": [container]},
    }


class Asking:
    """Makes requests, and notes the answers without what differs between any two servers."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self.client, self.namespace = client, namespace
        self.said: Said = []

    async def ask(self, what: str, request: Awaitable[Raw | None]) -> Raw:
        try:
            found = await request
        except ApiError as error:
            self.said.append((what, (type(error).__name__, error.status)))
            return {}
        self.said.append((what, _comparable(found) if found is not None else None))
        return found or {}

    def pod(self, name: str, subresource: str = "") -> ApiPath:
        return PODS.named(name, self.namespace, subresource)


def _comparable(found: Raw) -> Raw:
    meta, spec, status = found["metadata"], found.get("spec", {}), found.get("status", {})
    return {
        "name": meta["name"],
        "labels": _known(meta.get("labels", {})),
        "annotations": _known(meta.get("annotations", {})),
        "generation": meta.get("generation") if "workers" in spec else None,
        "grace": meta.get("deletionGracePeriodSeconds"),
        "workers": spec.get("workers", {}).get("allowed"),
        "suspend": spec.get("suspend", False),  # which the schema fills in and readers assume
        "taints": [each for each in spec.get("taints", []) if _is_known(each["key"])],
        "requests": [each["resources"]["requests"] for each in spec.get("containers", ())],
        "scheduler": spec.get("schedulerName"),
        "grace of pod": spec.get("terminationGracePeriodSeconds"),
        "phase": status.get("phase"),
        "reason": status.get("reason"),
        "progress": status.get("progress"),
        "conditions": {
            each["type"]: (each["status"], each.get("message", ""))
            for each in status.get("conditions", ())
            if _is_known(each["type"])
        },
    }


def _known(labels: Raw) -> Raw:
    return {key: value for key, value in labels.items() if _is_known(key)}


def _is_known(key: str) -> bool:
    """Whether this test has written it, and no controller or admission rule."""
    return key in ("more", "somebody") or key.startswith("plimsoll.dev/")


async def of_jobs(asking: Asking) -> None:
    """Statuses replace only what they were computed from; specs have generations."""
    ask, client = asking.ask, asking.client
    path, status = (JOBS.named("job", asking.namespace, sub) for sub in ("", "status"))
    manifest = a_training_job("job", workers=(2, 8), allowed=(2, 4))
    made = await ask("made", client.create(JOBS.within(asking.namespace), manifest, Raw))
    await ask("made twice", client.create(JOBS.within(asking.namespace), manifest, Raw))
    version = made["metadata"]["resourceVersion"]

    def reported(done: str, at: str) -> Awaitable[Raw]:
        body = {"reason": "Running", "progress": {"done": done, "percent": 5}}
        return client.patch_status(status, body, Raw, resource_version=at)

    written = await ask("reported", reported("1", version))
    await ask("reported from before", reported("2", version))
    same = await ask("nothing changed", client.merge_patch(status, {}, Raw))
    assert same["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]
    body = {"spec": {"suspend": True}, "status": {"reason": "Ignored"}}
    await ask("suspended", client.merge_patch(path, body, Raw))
    body = {"spec": {"suspend": False}, "status": {"reason": "Taken", "progress": None}}
    seen = await ask("spec ignored", client.merge_patch(status, body, Raw))

    def operations(reason: str) -> list[Manifest]:
        return [
            {"op": "test", "path": "/status", "value": {"reason": reason}},
            {"op": "add", "path": "/status/message", "value": "said"},
            {"op": "add", "path": "/status/reason", "value": "Patched"},
        ]

    await ask("a test holds", client.json_patch(status, operations("Taken"), Raw))
    await ask("a test fails", client.json_patch(status, operations("Taken"), Raw))
    for operation in ({"op": "add", "path": "/-", "value": 8}, {"op": "remove", "path": "/0"}):
        within = {**operation, "path": f"/spec/workers/allowed{operation['path']}"}
        await ask("list changed", client.json_patch(path, [within], Raw))
    await ask("replaced", client.replace(path, {**seen, "spec": manifest["spec"]}, Raw))
    now = await ask("read", client.get(path, Raw))
    head = {key: now["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
    await ask("replaced now", client.replace(path, {**now, "metadata": head}, Raw))
    await ask("as it is", client.get(path, Raw))
    await ask("another's", client.delete(path, Raw, Deletion(uid="somebody")))
    await ask("deleted", client.delete(path, Raw, Deletion(uid=made["metadata"]["uid"])))
    await ask("gone", client.get(path, Raw))
    await ask("patched when gone", client.merge_patch(status, {}, Raw))


async def of_pods(asking: Asking) -> None:
    """Pods get defaults, conditions one by one, and go when they may."""
    ask, client, pod = asking.ask, asking.client, asking.pod
    within = PODS.within(asking.namespace)
    for name, node, label in (("bound", NODE, "a"), ("free", "", "b"), ("other", NODE, "a")):
        manifest = a_pod(name, node=node, labels={"plimsoll.dev/job-uid": label})
        await ask(f"made {name}", client.create(within, manifest, Raw))
    chosen = Selection(labels="plimsoll.dev/job-uid=a")
    found = await client.list_all(within, Raw, selection=chosen)
    asking.said.append(("selected", sorted(each["metadata"]["name"] for each in found)))
    there = await ask("read", client.get(pod("bound"), Raw))
    uid = there["metadata"]["uid"]
    meta = {"name": "bound", "namespace": asking.namespace, "uid": uid}
    condition = {"type": "plimsoll.dev/serving", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    body: Raw = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
    for value in ("False", "True"):
        body["status"] = {"conditions": [{**condition, "status": value, "message": value}]}
        await ask("gate", client.apply(pod("bound", "status"), body, Raw))
    body["metadata"] = {**meta, "uid": "somebody"}
    await ask("another's gate", client.apply(pod("bound", "status"), body, Raw))
    labels = {"metadata": {"uid": uid, "labels": {"more": "1"}}}
    await ask("labelled", client.merge_patch(pod("bound"), labels, Raw))
    labels = {"metadata": {"uid": "somebody", "labels": {"more": "2"}}}
    await ask("another's label", client.merge_patch(pod("bound"), labels, Raw))
    await ask("free goes", client.delete(pod("free"), Raw))
    await ask("free is gone", client.get(pod("free"), Raw))
    await ask("bound is told", client.delete(pod("bound"), Raw, Deletion(uid=uid)))
    await ask("bound is there", client.get(pod("bound"), Raw))
    await ask("bound is told again", client.delete(pod("bound"), Raw))
    now = Deletion(uid=uid, grace_seconds=0)
    await ask("bound is forgotten", client.delete(pod("bound"), Raw, now))
    await ask("bound is gone", client.get(pod("bound"), Raw))
    await ask("bound was gone", client.delete(pod("bound"), Raw, now))


async def of_nodes(asking: Asking) -> None:
    """Taints of others survive ours, and caps are annotations."""
    ask, client, path = asking.ask, asking.client, NODES.named(NODE)
    there = await ask("read", client.get(path, Raw))
    ours = {"key": "plimsoll.dev/quarantine", "value": "Xid", "effect": "NoSchedule"}
    same = {
        "op": "test",
        "path": "/metadata/resourceVersion",
        "value": there["metadata"]["resourceVersion"],
    }
    added = {"op": "add", "path": "/spec/taints/-", "value": ours}
    await ask("tainted", client.json_patch(path, [added], Raw))
    await ask("tainted from before", client.json_patch(path, [same, added], Raw))
    for watts in ("400", None):
        notes = {"uid": there["metadata"]["uid"], "annotations": {"plimsoll.dev/cap": watts}}
        await ask("capped", client.merge_patch(path, {"metadata": notes}, Raw))


def twin_said(acts: Callable[[Asking], Awaitable[None]], node: Manifest) -> Said:
    loop = VirtualTimeLoop()

    async def whole() -> Said:
        api = TwinApiServer(clock_of(loop, BEGINS))
        api.create("nodes", node)
        asking = Asking(KubeClient(api), "twin")
        await acts(asking)
        return asking.said

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(whole())


async def really_said(
    acts: Callable[[Asking], Awaitable[None]], kubeconfig: Path, namespace: str
) -> Said:
    async with KubeClient.to(endpoint(kubeconfig)) as client:
        asking = Asking(client, namespace)
        await acts(asking)
        return asking.said


@pytest.mark.parametrize("acts", [of_jobs, of_pods, of_nodes])
def test_the_twin_answers_like_a_real_api_server(
    control_plane: Cluster,
    api: ApiServer,
    namespace: str,
    acts: Callable[[Asking], Awaitable[None]],
) -> None:
    taint = {"key": "somebody", "value": "else", "effect": "NoSchedule"}
    node = gpu_node(NODE, "NVIDIA-H100-80GB-HBM3", 8)
    node["spec"]["taints"] = [taint]
    api.create("/api/v1/nodes", node)
    really = asyncio.run(really_said(acts, control_plane.kubeconfig, namespace))
    twin = twin_said(acts, node)
    assert [what for what, _ in twin] == [what for what, _ in really]
    for (what, ours), (_, theirs) in zip(twin, really, strict=True):
        assert ours == theirs, what
