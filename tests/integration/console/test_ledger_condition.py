"""The policy says whether the console's ledger has all that was used."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plimsoll.kube.objects.times import micro_time
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.waiting import wait_until
from support.objects.job_manifests import a_policy

pytestmark = pytest.mark.slow

POLICY = "/apis/plimsoll.dev/v1alpha1/placementpolicies/default"
LEASE = "plimsoll-ledger"


def reason(api: ApiServer) -> str:
    """What the condition says, in a word."""
    conditions = api.get(POLICY).get("status", {}).get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "LedgerCurrent"), "")


def await_reason(api: ApiServer, wanted: str) -> None:
    wait_until(lambda: reason(api) == wanted, timeout_seconds=90, what=wanted)


def test_the_policy_says_how_far_the_ledger_goes(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    api.apply(POLICY, a_policy())
    own = {"PLIMSOLL_NAMESPACE": namespace, "PLIMSOLL_LEDGER_LEASE": LEASE}
    asked = {
        "PLIMSOLL_CONSOLE_NAMESPACE": namespace,
        "PLIMSOLL_CONSOLE_LEDGER_LEASE": LEASE,
        "PLIMSOLL_CONSOLE_LEDGER_WRITE_SECONDS": "1",
    }
    with OperatorProcess(control_plane.kubeconfig, own):
        full = {"PLIMSOLL_CONSOLE_LEDGER_URL": "sqlite:////proc/no/ledger.db"}
        with ConsoleProcess(control_plane.kubeconfig, {**asked, **full}):
            await_reason(api, "LedgerUnknown")  # behind after a quarter of an hour
        good = {"PLIMSOLL_CONSOLE_LEDGER_URL": f"sqlite:///{tmp_path / 'ledger.db'}"}
        with ConsoleProcess(control_plane.kubeconfig, {**asked, **good}):
            await_reason(api, "LedgerWritten")
        # As it is when nothing could be written for half an hour, in which the operator started.
        before = micro_time(datetime.now(UTC) - timedelta(minutes=30))
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE}"
        api.merge(path, {"spec": {"renewTime": before}})
        await_reason(api, "LedgerBehind")
