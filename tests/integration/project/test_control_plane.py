"""Our own tools: a control plane starts, plays nodes and pods, and leaves nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import add_nodes, demo_nodes, fake_node, ready_nodes
from plimsoll_devcluster.leftovers import cluster_objects, remove_new_objects
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane, ControlPlaneFailedError
from plimsoll_devcluster.processes.program_flags import PROGRAMS
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

RUNNING_PROGRAMS = set(PROGRAMS) - {"kubectl"}
only_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def gpu_pod(name: str, gpus: int = 1, *, wishes: dict[str, str] | None = None) -> Manifest:
    annotations = {f"plimsoll.dev/test-{wish}": value for wish, value in (wishes or {}).items()}
    container = {"name": "main", "image": "none", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


@pytest.fixture
def pods(api: ApiServer, namespace: str) -> str:
    """The collection of pods in a namespace of a cluster with one node of eight GPUs."""
    add_nodes(api, [fake_node("gpu-node")])
    return f"/api/v1/namespaces/{namespace}/pods"


def wait_for_phase(api: ApiServer, pod: str, phase: str) -> Manifest:
    wait_until(
        lambda: api.get(pod)["status"]["phase"] == phase,
        timeout_seconds=30,
        what=f"{pod} is {phase}",
    )
    return api.get(pod)


def test_a_gpu_pod_is_bound_and_runs(api: ApiServer, pods: str) -> None:
    api.create(pods, gpu_pod("whole-node", gpus=8))
    pod = wait_for_phase(api, f"{pods}/whole-node", "Running")
    assert pod["spec"]["nodeName"] == "gpu-node"
    assert ready_status(pod) == "True"
    assert pod["status"]["podIP"]


def test_a_pod_that_fits_nowhere_stays_pending(api: ApiServer, pods: str) -> None:
    api.create(pods, gpu_pod("too-large", gpus=9))

    def refusals() -> list[str]:
        conditions = api.get(f"{pods}/too-large")["status"].get("conditions", [])
        return [c["message"] for c in conditions if c["type"] == "PodScheduled"]

    message = wait_until(refusals, timeout_seconds=30, what="the scheduler's refusal")[0]
    assert "Insufficient nvidia.com/gpu" in message


@pytest.mark.parametrize(
    ("wishes", "phase", "exit_code"),
    [({}, "Succeeded", 0), ({"exit": "Failed"}, "Failed", 1)],
)
def test_a_pod_ends_as_its_annotations_say(
    api: ApiServer, pods: str, wishes: dict[str, str], phase: str, exit_code: int
) -> None:
    api.create(pods, gpu_pod("short", wishes={"run-seconds": "0.1", **wishes}))
    pod = wait_for_phase(api, f"{pods}/short", phase)
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == exit_code


def test_a_running_pod_can_be_made_to_fail(api: ApiServer, pods: str) -> None:
    api.create(pods, gpu_pod("steady"))
    wait_for_phase(api, f"{pods}/steady", "Running")
    doomed = gpu_pod("steady", wishes={"run-seconds": "0", "exit": "Failed"})
    api.merge(f"{pods}/steady", {"metadata": {"annotations": doomed["metadata"]["annotations"]}})
    wait_for_phase(api, f"{pods}/steady", "Failed")


def test_a_pod_may_start_late(api: ApiServer, pods: str) -> None:
    api.create(pods, gpu_pod("late", wishes={"start-seconds": "600"}))
    wait_until(
        lambda: api.get(f"{pods}/late")["spec"].get("nodeName"), timeout_seconds=30, what="bound"
    )
    api.create(pods, gpu_pod("prompt"))
    wait_for_phase(api, f"{pods}/prompt", "Running")
    assert api.get(f"{pods}/late")["status"]["phase"] == "Pending"


def test_a_pod_is_ready_while_its_readiness_gates_are_open(api: ApiServer, pods: str) -> None:
    pod = gpu_pod("gated")
    pod["spec"]["readinessGates"] = [{"conditionType": "test/gate"}]
    api.create(pods, pod)
    wait_for_phase(api, f"{pods}/gated", "Running")
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gated"}}
    for gate in ("False", "True", "False"):
        said = {"type": "test/gate", "status": gate}
        api.apply(f"{pods}/gated/status", {**head, "status": {"conditions": [said]}})
        wait_until(
            lambda gate=gate: ready_status(api.get(f"{pods}/gated")) == gate,
            timeout_seconds=30,
            what=f"readiness is {gate}",
        )


def test_pods_run_on_a_node_that_has_just_replaced_one_of_its_name(
    api: ApiServer, namespace: str
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    for name in ("first", "second", "third"):
        add_nodes(api, [fake_node("gpu-node")])
        api.create(pods, gpu_pod(name))
        assert ready_status(wait_for_phase(api, f"{pods}/{name}", "Running")) == "True"
        api.delete(f"{pods}/{name}")
        api.delete("/api/v1/nodes/gpu-node")


def ready_status(pod: Manifest) -> str:
    return next(c["status"] for c in pod["status"]["conditions"] if c["type"] == "Ready")


def test_a_deleted_pod_goes_at_once_unless_it_is_held(api: ApiServer, pods: str) -> None:
    for pod in (gpu_pod("free"), gpu_pod("held", wishes={"hold-deletion-seconds": "600"})):
        api.create(pods, pod)
        wait_for_phase(api, f"{pods}/{pod['metadata']['name']}", "Running")
    api.delete(f"{pods}/held")
    api.delete(f"{pods}/free")
    wait_until(lambda: not api.exists(f"{pods}/free"), timeout_seconds=30, what="free is gone")
    assert api.get(f"{pods}/held")["metadata"]["deletionTimestamp"]


def test_what_an_owner_leaves_is_collected(api: ApiServer, namespace: str) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    owner = api.create(maps, {"metadata": {"name": "owner"}})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    api.create(maps, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    api.delete(f"{maps}/owner")
    wait_until(lambda: not api.exists(f"{maps}/owned"), timeout_seconds=60, what="owned is gone")


def test_a_node_can_be_kept_unready(api: ApiServer) -> None:
    add_nodes(api, [fake_node("ailing"), fake_node("healthy")])
    api.merge(
        "/api/v1/nodes/ailing", {"metadata": {"annotations": {"plimsoll.dev/test-ready": "False"}}}
    )
    status = api.get("/api/v1/nodes/ailing")["status"]
    for condition in status["conditions"]:
        if condition["type"] == "Ready":
            condition["status"] = "False"
    api.merge("/api/v1/nodes/ailing/status", {"status": {"conditions": status["conditions"]}})
    wait_until(
        lambda: {"ailing", "healthy"} & ready_nodes(api) == {"healthy"},
        timeout_seconds=30,
        what="one node is seen to be unready",
    )


def test_the_nodes_of_the_demo_become_ready(api: ApiServer) -> None:
    nodes = demo_nodes()
    add_nodes(api, nodes)
    assert {node["metadata"]["name"] for node in nodes} <= ready_nodes(api)


def test_only_what_is_new_is_taken_back(api: ApiServer) -> None:
    api.create("/api/v1/nodes", fake_node("old"))
    before = cluster_objects(api)
    api.create("/api/v1/nodes", fake_node("new"))
    remove_new_objects(api, before)
    assert api.exists("/api/v1/nodes/old")
    assert not api.exists("/api/v1/nodes/new")


@pytest.mark.slow
def test_nothing_is_lost_when_the_api_server_restarts(
    control_plane: Cluster, api: ApiServer, pods: str
) -> None:
    api.create(pods, gpu_pod("before"))
    control_plane.restart_api_server()
    assert api.exists(f"{pods}/before")
    api.create(pods, gpu_pod("after"))
    wait_for_phase(api, f"{pods}/after", "Running")


@pytest.fixture
def own_control_plane() -> Iterator[ControlPlane]:
    with ControlPlane(find_programs(os.environ), service_account_admission=False) as running:
        yield running


def test_stopping_leaves_no_process_and_no_file(own_control_plane: ControlPlane) -> None:
    pids = own_control_plane.pids()
    assert set(pids) == RUNNING_PROGRAMS
    own_control_plane.stop()
    for pid in pids.values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not own_control_plane.kubeconfig.parent.exists()


@pytest.mark.slow
def test_without_service_account_admission_pods_mount_no_token(
    own_control_plane: ControlPlane,
) -> None:
    pod = own_control_plane.api.create("/api/v1/namespaces/default/pods", gpu_pod("bare"))
    assert not pod["spec"].get("volumes")


@pytest.mark.slow
def test_a_program_that_has_ended_is_noticed(own_control_plane: ControlPlane) -> None:
    os.kill(own_control_plane.pids()["kube-scheduler"], signal.SIGKILL)

    def noticed() -> bool:
        try:
            own_control_plane.check()
        except ControlPlaneFailedError as error:
            return "kube-scheduler has ended" in str(error)
        return False

    wait_until(noticed, timeout_seconds=10, what="the scheduler's end is noticed")


def test_a_program_that_does_not_start_shows_its_last_words(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    shutil.copytree(find_programs(os.environ), programs, symlinks=True)
    broken = programs / "kube-apiserver"
    broken.unlink()
    broken.write_text("#!/bin/sh\necho these are my last words\nexit 1\n")
    broken.chmod(0o755)
    control_plane = ControlPlane(programs)
    with pytest.raises(ControlPlaneFailedError, match="these are my last words"):
        control_plane.start()
    assert not control_plane.kubeconfig.parent.exists()


@pytest.mark.slow
@only_on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_outlives_an_owner_that_is_ended_by(number: signal.Signals) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PLIMSOLL_KUBECONFIG"}
    command = [sys.executable, "-m", "plimsoll_devcluster", "up"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout
        folder = Path(owner.stdout.readline().strip().removeprefix("export KUBECONFIG=")).parent
        assert len(processes_in(folder)) == len(RUNNING_PROGRAMS)
        owner.send_signal(number)
    wait_until(lambda: not processes_in(folder), timeout_seconds=10, what="all programs ended")
    if number is signal.SIGKILL:
        shutil.rmtree(folder)  # nobody was left to do it
    assert not folder.exists()


@pytest.mark.slow
@only_on_linux
def test_a_program_without_a_handler_of_its_own_cleans_up_on_sigterm() -> None:
    script = (
        "import os, signal\n"
        "from plimsoll_devcluster.cluster import open_cluster\n"
        "with open_cluster(os.environ) as cluster:\n"
        "    print(cluster.kubeconfig, flush=True)\n"
        "    signal.pause()\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PLIMSOLL_KUBECONFIG"}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout
        folder = Path(owner.stdout.readline().strip()).parent
        assert len(processes_in(folder)) == len(RUNNING_PROGRAMS)
        owner.terminate()
    assert owner.returncode == -signal.SIGTERM
    assert not processes_in(folder)
    assert not folder.exists()


def processes_in(folder: Path) -> list[str]:
    """Return the command lines of the processes that were started with a path in `folder`."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_text()
        except OSError:  # it ended while we looked
            continue
        if f"{folder}/" in line:
            found.append(line)
    return found
