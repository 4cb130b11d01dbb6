"""Kueue's objects of a real API server become objects that it takes."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.crds import DEFINITIONS, install_crds
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights, with_token
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import GROUP, SECONDS
from support.programs.cli_runs import Ran, run

OBJECTS = Path(__file__).parents[2] / "support" / "objects"
CRDS = OBJECTS / "kueue_crds"
KUEUE = OBJECTS / "kueue_cluster.yaml"
H100, L4 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-L4"
READ = ["get", "list"]


def kubectl(cluster: Cluster, *arguments: str, given: str = "") -> str:
    program = find_programs(os.environ) / "kubectl"
    command = [str(program), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, input=given)
    return ran.stdout


def imported(capsys: pytest.CaptureFixture[str], kubeconfig: Path, *arguments: str) -> Ran:
    return run(capsys, "import", "kueue", "--kubeconfig", str(kubeconfig), *arguments)


@pytest.fixture
def kueue(control_plane: Cluster, api: ApiServer) -> Iterator[Cluster]:
    """A cluster with Kueue's kinds and a company's queues."""
    install_crds(api, CRDS)
    kubectl(control_plane, "apply", "-f", str(KUEUE))
    yield control_plane
    for file in CRDS.glob("*.yaml"):
        api.delete(f"{DEFINITIONS}/{yaml.safe_load(file.read_text())['metadata']['name']}")
    wait_until(
        lambda: not api.exists("/apis/kueue.x-k8s.io"),
        timeout_seconds=SECONDS,
        what="Kueue's kinds are no longer served",
    )


def quotas(api: ApiServer, name: str) -> dict[str, tuple[object, object]]:
    found = api.get(f"{GROUP}/jobqueues/{name}")["spec"].get("quotas", [])
    return {each["type"]: (each.get("guaranteed"), each.get("limit")) for each in found}


def test_what_is_printed_is_applied_as_it_is(
    kueue: Cluster, api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = imported(capsys, kueue.kubeconfig)
    assert ran.status == 0, ran.err
    said = kubectl(kueue, "apply", "--validate=strict", "-f", "-", given=ran.out)
    assert len(said.splitlines()) == 6
    assert quotas(api, "company") == {H100: (40, 40), L4: (8, 8)}
    assert quotas(api, "vision") == {H100: (16, 24), L4: (8, None)}
    assert quotas(api, "speech") == {H100: (16, 36), L4: ("0", 0)}
    assert api.get(f"{GROUP}/jobqueues/vision")["spec"]["weight"] == 3
    assert api.get(f"{GROUP}/gpupools/l4-spot")["spec"]["capacityType"] == "Spot"
    levels = api.get(f"{GROUP}/gpupools/h100")["spec"]["topologyKeys"]
    assert [level["name"] for level in levels] == ["block", "rack", "host"]
    urgent = api.get("/apis/scheduling.k8s.io/v1/priorityclasses/kueue-urgent")
    assert urgent["value"] == 1000
    again = imported(capsys, kueue.kubeconfig)
    assert "kueue-urgent" not in again.out, "it is there by now"


def test_what_kubectl_prints_of_kueue_is_imported_alike(
    kueue: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = "clusterqueues,cohorts,localqueues,resourceflavors,topologies,workloadpriorityclasses"
    file = tmp_path / "kueue.json"
    file.write_text(kubectl(kueue, "get", kinds, "-A", "-o", "json"))
    from_file = run(capsys, "import", "kueue", "-f", str(file))
    assert (from_file.status, from_file.err) == (0, imported(capsys, kueue.kubeconfig).err)
    assert from_file.out == imported(capsys, kueue.kubeconfig).out


def test_a_cluster_without_kueue_is_said_to_have_none(
    control_plane: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = imported(capsys, control_plane.kubeconfig)
    assert (ran.status, ran.out) == (2, "")
    assert "the cluster has no Kueue of kueue.x-k8s.io/v1beta2 or v1beta1" in ran.err


def test_without_a_right_to_list_queues_it_is_named_and_nodes_may_be_done_without(
    kueue: Cluster,
    api: ApiServer,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rule = {"apiGroups": ["kueue.x-k8s.io"], "verbs": READ}
    rights = {"none": ["localqueues"], "enough": ["*"]}
    ran: dict[str, Ran] = {}
    for name, resources in rights.items():
        account = f"{name}-{namespace}"
        rules = [{**rule, "resources": resources}]
        token = add_account(api, account, namespace, cluster_rules=rules, own_rules=[])
        kubeconfig = with_token(kueue.kubeconfig, token, tmp_path / name)
        ran[name] = imported(capsys, kubeconfig)
        remove_cluster_rights(api, account)
    assert (ran["none"].status, ran["none"].out) == (2, "")
    assert "the cluster denies access" in ran["none"].err
    assert 'cannot list resource "clusterqueues"' in ran["none"].err
    assert ran["enough"].status == 0
    assert "plimsoll: Node: nodes is forbidden" in ran["enough"].err
