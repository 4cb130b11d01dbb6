"""A Lease as a heartbeat: one program renews it, another reads how recent it is."""

from datetime import UTC, datetime

from plimsoll.errors import NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import LEASES
from plimsoll.kube.objects.objects import Lease
from plimsoll.kube.objects.times import micro_time


class Heartbeat:
    """The Lease `namespace`/`name`. All methods raise ApiError."""

    def __init__(self, client: KubeClient, *, namespace: str, name: str) -> None:
        self._client = client
        self._namespace, self._name = namespace, name
        self._path = LEASES.named(name, namespace)

    async def renew(self, time: datetime, holder: str) -> None:
        """Say that all is well at that time. Makes the Lease if there is none."""
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {"holderIdentity": holder, "renewTime": micro_time(time)},
        }
        await self._client.apply(self._path, lease, Lease)

    async def renewed_at(self) -> datetime | None:
        """When all was well last; None: nobody has said so yet."""
        try:
            lease = await self._client.get(self._path, Lease)
        except NotFound:
            return None
        time = lease.spec.renew_time
        return time.astimezone(UTC) if time else None
