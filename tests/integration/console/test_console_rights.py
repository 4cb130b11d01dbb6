"""What the console's ServiceAccount may do: just what it does, mostly to read and to ask."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from plimsoll.kube.http.credentials import endpoint
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.processes.credentials import kubeconfig, write_secret
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights
from support.clusters.scene import GROUP
from support.clusters.target_lives import a_targeting_job, a_workload
from support.programs.asynchronous import asynchronous, until
from support.project.rights import Right, console_rules, consoles_own_rules, granted, needed

pytestmark = pytest.mark.slow


@pytest.fixture
def token(api: ApiServer, namespace: str) -> Iterator[str]:
    """What proves that one is a ServiceAccount with the rights of the console's."""
    name = f"console-{namespace}"
    rules = {"cluster_rules": console_rules(), "own_rules": consoles_own_rules()}
    yield add_account(api, name, namespace, **rules)
    remove_cluster_rights(api, name)


def target_workloads(api: ApiServer, namespace: str) -> None:
    """Have jobs target workloads of both kinds that may be read without further rights."""
    for kind in ("Deployment", "StatefulSet"):
        name = kind.lower()
        workload = a_workload(kind, name, gated=True)
        api.create(f"/apis/apps/v1/namespaces/{namespace}/{name}s", workload)
        job = a_targeting_job(name, target=workload, replicas=2)
        api.apply(f"{GROUP}/namespaces/{namespace}/inferencejobs/{name}", job)


@pytest.mark.usefixtures("all_controllers", "provisioning_requests")
@asynchronous
async def test_the_console_has_just_the_rights_that_it_uses(  # noqa: PLR0913, PLR0917 - fixtures
    karpenter: object,
    control_plane: Cluster,
    api: ApiServer,
    namespace: str,
    token: str,
    tmp_path: Path,
) -> None:
    del karpenter  # the kind of what it makes is read
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    # Applying what is not there yet takes the right to create it too; without, it is forbidden.
    by_applying = {Right("create", "leases", "coordination.k8s.io")}
    given = granted([*console_rules(), *consoles_own_rules()]) - by_applying
    environment = {
        "PLIMSOLL_CONSOLE_ADOPTS_JOBS": "true",
        "PLIMSOLL_CONSOLE_BUYS_NODES": "true",
        "PLIMSOLL_CONSOLE_REQUESTS_IN": namespace,
        "PLIMSOLL_CONSOLE_NAMESPACE": namespace,
        "PLIMSOLL_CONSOLE_LEDGER_URL": f"sqlite:///{tmp_path / 'ledger.db'}",
        "PLIMSOLL_CONSOLE_LEDGER_LEASE": "plimsoll-ledger",
        "PLIMSOLL_CONSOLE_LEDGER_WRITE_SECONDS": "1",
    }
    async with proxy.running() as door:
        config = write_secret(
            tmp_path / "kubeconfig", kubeconfig(server=door.server, certificate=None, token=token)
        )
        console = ConsoleProcess(config, environment)
        try:
            await asyncio.to_thread(console.start)
            await asyncio.to_thread(target_workloads, api, namespace)
            status, said = await asyncio.to_thread(console.get, "/api/v1/jobs", token)
            assert status == 200
            assert {job["key"]["name"] for job in said["jobs"]} <= {"deployment", "statefulset"}
            with suppress(AssertionError):  # what is not used by then is reported below
                await until(lambda: given <= needed(proxy.requests))
        finally:
            await asyncio.to_thread(console.kill)
    assert not proxy.forbidden
    assert needed(proxy.requests) == given
