"""What the operator writes down is planned again elsewhere, and asking what if changes nothing."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from plimsoll.kube.http.credentials import endpoint
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of
from support.clusters.scene import GROUP, SECONDS, Scene
from support.clusters.workload_lives import (
    adopted,
    create_workload,
)
from support.objects.batch_jobs import a_batch_job
from support.objects.job_manifests import a_priority_class, a_queue, a_template, a_training_job
from support.programs.asynchronous import asynchronous
from support.programs.cli_runs import Ran, run, written

SECRET = "hunter2"


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snapshots")


@pytest.fixture(scope="module")
def operator(control_plane: Cluster, snapshots: Path) -> Iterator[OperatorProcess]:
    """A replica that writes down each plan."""
    environment = {
        "PLIMSOLL_SNAPSHOT_DIR": str(snapshots),
        "PLIMSOLL_SNAPSHOT_SECONDS": "0",
        "PLIMSOLL_SNAPSHOTS_KEPT": "4",
        "PLIMSOLL_ADOPTS_JOBS": "true",
    }
    with forked_operator(control_plane.kubeconfig, environment) as process:
        yield process
        assert process.stop() == 0


def crowded(scene: Scene) -> tuple[Manifest, Manifest]:
    """A job that runs on most of a node, and one that finds no room beside it."""
    scene.add_nodes(fake_node("crowded", gpus=8))
    scene.apply(a_priority_class("what-if", 1000), a_queue("what-if", limit=100))
    template = a_template({"cpu": "1"})
    template["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": SECRET}]
    runs = a_training_job("runs", gpus=6, queue="what-if", template=template, work={"amount": 7200})
    waits = a_training_job("waits", gpus=4, queue="what-if")
    scene.apply(runs)
    scene.running(runs)
    scene.apply(waits)
    scene.until(waits, reason="InsufficientGPUs")
    return runs, waits


def test_each_snapshot_is_planned_again_just_so(
    scene: Scene, snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, waits = crowded(scene)
    name = f"TrainingJob/{scene.namespace}/runs"
    for file in sorted(snapshots.glob("*.json")):
        ran = run(capsys, "replay", str(file), "-o", "json")
        assert ran.status == 0, (file, ran.out, ran.err)
        assert SECRET not in file.read_text()
    last = json.loads(max(snapshots.glob("*.json")).read_text())
    assert last["plimsoll"]["plan"]["placements"].keys() == {name}
    assert len([*snapshots.iterdir()]) <= 4
    assert scene.operator.metric("plimsoll_snapshots_total", result="Written") >= 2
    ran = run(capsys, "replay", str(max(snapshots.glob("*.json"))), "-o", "json")
    (why,) = json.loads(ran.out)["waiting"]
    assert why["job"]["message"] == scene.status(waits)["message"]
    assert len(why["remedies"]) == 1


def versions(scene: Scene) -> dict[str, object]:
    """The version of every object in the namespace, and of the specs that all share.

    What the operator says of these of its own accord, events that come a moment after the
    status among them, and nodes of their health, may change.
    """
    own, shared = f"{GROUP}/namespaces/{scene.namespace}", ("jobqueues", "placementpolicies")
    core = f"/api/v1/namespaces/{scene.namespace}"
    within = [f"{own}/trainingjobs", f"{own}/inferencejobs", f"{core}/pods", f"{core}/services"]
    found: dict[str, object] = {
        f"{path}/{name_of(each)}": each["metadata"]["resourceVersion"]
        for path in within
        for each in scene.api.items(path)
    }
    for kind in shared:
        for each in scene.api.items(f"{GROUP}/{kind}"):
            found[f"{kind}/{name_of(each)}"] = each["metadata"]["generation"]
    return found


def asked(cluster: Cluster, capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    """What the program answers of the running cluster."""
    kubeconfig = str(cluster.kubeconfig)
    return run(capsys, *arguments, "--kubeconfig", kubeconfig, "-o", "json")


def test_a_job_is_simulated_in_the_running_cluster_and_nothing_changes(
    scene: Scene, control_plane: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, _ = crowded(scene)
    new = a_training_job("new", gpus=8, priorityClassName="what-if")
    new["metadata"]["namespace"] = scene.namespace
    before = versions(scene)
    ran = asked(control_plane, capsys, "simulate", "-f", written(tmp_path, "new.yaml", new))
    assert versions(scene) == before
    assert scene.all_events(new) == []
    assert ran.status == 0, ran.err
    printed = json.loads(ran.out)
    (applied,) = printed["applied"]
    assert applied["why"]["job"]["action"] == "Admit"
    assert applied["why"]["job"]["place"][0]["nodes"] == {"crowded": 8}
    (other,) = printed["others"]
    assert other["job"] == f"TrainingJob/{scene.namespace}/{name_of(runs)}"
    assert (other["fate"], printed["gpuHoursLost"] > 0) == ("stops", True)


def test_the_plan_of_the_running_cluster_is_that_of_the_operator(
    scene: Scene, control_plane: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, waits = crowded(scene)
    planned = asked(control_plane, capsys, "plan")
    assert planned.status == 0, planned.err
    jobs = {each["name"]: each for each in json.loads(planned.out)["jobs"]}
    assert {name: each["action"] for name, each in jobs.items()} == {
        "runs": "Keep",
        "waits": "Hold",
    }
    assert jobs["waits"]["message"] == scene.status(waits)["message"]
    new = a_training_job("new", gpus=2)
    file = written(tmp_path, "new.yaml", new)
    applied = asked(control_plane, capsys, "plan", "--live", "-f", file)
    jobs = {each["name"]: each for each in json.loads(applied.out)["jobs"]}
    assert jobs["new"]["place"][0]["nodes"] == {"crowded": 2}
    refused = asked(control_plane, capsys, "plan", "--cluster", file)
    assert (refused.status, refused.out) == (2, "")
    assert "--cluster is a cluster in files" in refused.err


@pytest.fixture
def lister(scene: Scene) -> Iterator[str]:
    """A token with the right to list what plans depend on, and no other."""
    cluster, name = "/apis/rbac.authorization.k8s.io/v1", f"lister-{scene.namespace}"
    listed = {
        "": ["namespaces", "nodes", "pods"],
        "scheduling.k8s.io": ["priorityclasses"],
        "policy": ["poddisruptionbudgets"],
        "plimsoll.dev": ["*"],
    }
    rules = [{"apiGroups": [g], "resources": r, "verbs": ["list"]} for g, r in listed.items()]
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": scene.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    meta = {"metadata": {"name": name}}
    scene.api.create(f"{cluster}/clusterroles", {**meta, "rules": rules})
    binding = {**meta, "roleRef": role, "subjects": [subject]}
    scene.api.create(f"{cluster}/clusterrolebindings", binding)
    yield a_token(scene)
    scene.api.delete(f"{cluster}/clusterrolebindings/{name}")
    scene.api.delete(f"{cluster}/clusterroles/{name}")


def a_token(scene: Scene) -> str:
    account = f"/api/v1/namespaces/{scene.namespace}/serviceaccounts/default/token"
    return scene.api.create(account, {"spec": {}})["status"]["token"]


@asynchronous
async def test_a_user_who_may_but_list_can_simulate(
    scene: Scene,
    control_plane: Cluster,
    lister: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await asyncio.to_thread(crowded, scene)
    file = written(tmp_path, "new.yaml", a_training_job("new", gpus=8))
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    async with proxy.running() as door:
        config = kubeconfig(tmp_path, door.server, token=lister)
        arguments = ("simulate", "-f", file, "--kubeconfig", config, "-o", "json")
        ran = await asyncio.to_thread(run, capsys, *arguments)
    assert ran.status == 0, ran.err
    kinds = {request.partition("?")[0].rpartition("/")[2] for request in proxy.requests}
    assert {request.partition(" ")[0] for request in proxy.requests} == {"GET"}
    assert {"nodes", "pods", "trainingjobs", "poddisruptionbudgets"} <= kinds


@asynchronous
async def test_a_user_who_may_not_list_jobs_is_denied_what_depends_on_them(
    scene: Scene,
    control_plane: Cluster,
    lister: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await asyncio.to_thread(adopted, scene, a_batch_job("asks"))
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    async with proxy.running() as door:
        config = kubeconfig(tmp_path, door.server, token=lister)
        arguments = ("explain", "job-asks", "--kubeconfig", config)
        ran = await asyncio.to_thread(run, capsys, *arguments)
    assert ran.status == 2
    assert "the cluster denies access: jobs.batch is forbidden: " in ran.err


def test_an_adopted_job_is_seen_with_its_pods(
    scene: Scene, control_plane: Cluster, snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.add_nodes(fake_node("adopting", gpus=2))
    scene.running(adopted(scene, a_batch_job("runs", gpus=1)))
    waits = adopted(scene, a_batch_job("waits"))
    scene.until(waits, reason="InsufficientGPUs")
    create_workload(scene, a_batch_job("other", queue=None, held=False, suspend=True))
    ran = asked(control_plane, capsys, "explain", "job-runs", "-n", scene.namespace)
    assert ran.status == 0, ran.err
    runs = json.loads(ran.out)["job"]
    assert (runs["action"], runs["place"][0]["nodes"]) == ("Keep", {"adopting": 2})
    ran = asked(control_plane, capsys, "explain", "job-waits", "-n", scene.namespace)
    assert json.loads(ran.out)["job"]["message"] == scene.status(waits)["message"]
    ran = run(capsys, "replay", str(max(snapshots.glob("*.json"))), "-o", "json")
    assert ran.status == 0, (ran.out, ran.err)
    (why,) = json.loads(ran.out)["waiting"]
    assert why["job"]["message"] == scene.status(waits)["message"]


def kubeconfig(folder: Path, server: str, **user: str) -> str:
    """The path of a kubeconfig for one server."""
    file = folder / "kubeconfig"
    config = {
        "clusters": [{"name": "one", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": user}],
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "me"}}],
        "current-context": "one",
    }
    file.write_text(yaml.safe_dump(config))
    return str(file)


@asynchronous
async def test_a_user_without_rights_learns_what_to_do(
    scene: Scene, control_plane: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    async with proxy.running() as door:
        config = kubeconfig(tmp_path, door.server, token=a_token(scene))
        ran = await asyncio.to_thread(run, capsys, "explain", "x", "--kubeconfig", config)
    assert ran.status == 2
    assert "the cluster denies access: namespaces is forbidden: " in ran.err
    assert "get permission to list, or read a file with --snapshot or --cluster" in ran.err


def test_a_waiting_job_is_explained_in_the_running_cluster(
    scene: Scene, control_plane: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, waits = crowded(scene)
    ran = asked(control_plane, capsys, "explain", "waits", "-n", scene.namespace)
    assert ran.status == 0, ran.err
    why = json.loads(ran.out)
    assert why["job"]["message"] == scene.status(waits)["message"]
    assert [each["changes"] for each in why["remedies"]]
    assert why["earliestStart"]["after"] == [f"TrainingJob/{scene.namespace}/{name_of(runs)}"]
    smaller = {"workers": {"gpusPerWorker": 2}}
    scene.edit(waits, {"suspend": True})
    scene.until(waits, reason="Suspended")
    scene.edit(waits, {**smaller, "suspend": False})
    wait_until(
        lambda: scene.status(waits).get("placement"), timeout_seconds=SECONDS, what="it has a place"
    )
    printed = json.loads(asked(control_plane, capsys, "explain", f"tj/{scene.namespace}/waits").out)
    assert (printed["job"]["action"], printed["remedies"]) == ("Keep", [])
