"""What the chart renders, on a real API server without nodes; Helm is needed, and no containers."""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from harness.commands import run
from harness.release import CHART
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights, with_token
from plimsoll_devcluster.waiting import wait_until

pytestmark = pytest.mark.usefixtures("helm")

NAMESPACE = "guarded"
FLOW_SCHEMA = "FlowSchema"
ALL_OF_IT = (
    "flowControl.enabled=true",
    "metrics.dashboard.enabled=true",
    "networkPolicy.enabled=true",
    "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.a=b",
    "networkPolicy.workersFrom[0].podSelector.matchLabels.a=b",
    "networkPolicy.egress[0].ports[0].port=443",
    "snapshots.enabled=true",
    "prometheus.url=http://prometheus.monitoring:9090",
    "prometheus.secretName=prometheus",
    "rbac.targets[0].apiGroup=leaderworkerset.x-k8s.io",
    "rbac.targets[0].resource=leaderworkersets",
)


@pytest.fixture(scope="module", autouse=True)
def namespace(server: ControlPlane) -> None:
    """A namespace that takes restricted pods only."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": NAMESPACE, "labels": labels}
    server.api.create("/api/v1/namespaces", {"metadata": metadata})


def rendered(*values: str, name: str = "plimsoll") -> str:
    given = [f"--set={value}" for value in values]
    given.append("--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")
    return run("helm", "template", name, CHART, f"--namespace={NAMESPACE}", *given)


def kubectl(server: ControlPlane, *arguments: str, stdin: str = "") -> str:
    program = find_programs(os.environ) / "kubectl"
    return run(program, f"--kubeconfig={server.kubeconfig}", *arguments, stdin=stdin)


@pytest.mark.parametrize("values", [(), ("replicaCount=1",), ALL_OF_IT])
def test_each_object_is_as_its_schema_wants_it(
    server: ControlPlane, values: tuple[str, ...]
) -> None:
    text = rendered(*values)
    strict = ("--dry-run=server", "--validate=strict", "--server-side")
    output = kubectl(server, "apply", *strict, "--filename=-", stdin=text)
    assert len(output.splitlines()) == len(manifests_in(text))


def the_pod(*values: str) -> Manifest:
    (deployment,) = (d for d in manifests_in(rendered(*values)) if d["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    spec = {**template["spec"], "serviceAccountName": "default"}
    return {
        "metadata": {"name": "plimsoll", "labels": template["metadata"]["labels"]},
        "spec": spec,
    }


@pytest.mark.parametrize("values", [(), ALL_OF_IT])
def test_a_namespace_that_is_restricted_takes_the_pods(
    server: ControlPlane, values: tuple[str, ...]
) -> None:
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All"
    server.api.create(pods, the_pod(*values))


def test_two_releases_share_no_name() -> None:
    def names(name: str) -> set[tuple[str, str]]:
        found = manifests_in(rendered(*ALL_OF_IT, "crds.install=false", name=name))
        return {(each["kind"], each["metadata"]["name"]) for each in found}

    assert names("one").isdisjoint(names("two"))
    assert len(names("one")) == len(names("two"))


LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"


@pytest.fixture
def account(server: ControlPlane, tmp_path: Path) -> Iterator[ApiServer]:
    """The API server as the operator's account asks it, whose FlowSchemas are there."""
    found = [
        d for d in manifests_in(rendered("flowControl.enabled=true")) if d["kind"] == FLOW_SCHEMA
    ]
    for each in found:
        server.api.create(FLOW_SCHEMAS, each)
    token = add_account(server.api, "plimsoll", NAMESPACE, cluster_rules=[], own_rules=[])
    yield ApiServer(with_token(server.kubeconfig, token, tmp_path / "kubeconfig"))
    remove_cluster_rights(server.api, "plimsoll")
    for each in found:
        server.api.delete(f"{FLOW_SCHEMAS}/{each['metadata']['name']}")


def test_the_operator_and_its_lease_go_by_levels_of_their_own(
    server: ControlPlane, account: ApiServer
) -> None:
    def goes_by(path: str, schema: str, level: str) -> bool:
        with suppress(ApiServerRefusedError):  # it has no rights; that is found out afterwards
            account.get(path)
        counted = f'dispatched_requests_total{{flow_schema="{schema}",priority_level="{level}"}}'
        return counted in server.api.text("/metrics")

    for asked in (
        (LEASES, "plimsoll-lease", "leader-election"),
        ("/api/v1/pods", "plimsoll", "workload-high"),
    ):
        wait_until(partial(goes_by, *asked), timeout_seconds=30, what=f"it goes by {asked}")
