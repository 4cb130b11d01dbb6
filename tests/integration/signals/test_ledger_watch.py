"""What the operator reads of how far the ledger goes, from a real Lease."""

from datetime import UTC, datetime, timedelta

from plimsoll.kube.heartbeat import Heartbeat
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import endpoint
from plimsoll.observe.measured.ledger import LedgerReading
from plimsoll.signals.ledger_watch import LedgerWatch
from plimsoll_devcluster.cluster import Cluster
from support.programs.asynchronous import asynchronous

START, MINUTE = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=1)


@asynchronous
async def test_an_empty_ledger_is_so_from_when_that_was_first_seen(
    control_plane: Cluster, namespace: str
) -> None:
    time = START
    async with KubeClient.to(endpoint(control_plane.kubeconfig)) as client:
        lease = Heartbeat(client, namespace=namespace, name="ledger")
        watch = LedgerWatch(lease, lambda: time)
        await watch.look()
        time = START + MINUTE
        await watch.look()
        assert watch.current() == LedgerReading(empty_since=START)
        await lease.renew(time, "console")
        await watch.look()
        assert watch.current() == LedgerReading(time)
