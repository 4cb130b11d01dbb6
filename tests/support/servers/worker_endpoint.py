"""The endpoint for workers, served for real on this machine, in a cluster that a test writes."""

import asyncio
import base64
import json
import threading
from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec

from plimsoll.api.parts.batch import PlacedBatch
from plimsoll.api.parts.progress import Notice
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import OwnerReference, Pod
from plimsoll.kube.tokens.claims import PodIdentity, claims_of
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.workers.connections import ConnectionTerms
from plimsoll.workers.endpoint import Surroundings, WorkerServer
from plimsoll.workers.registry import Registry
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, at, objects_of, pods_of

TRUE = "AAAA-true"


class WorkerEndpoint:
    """A job and its pods; the API server's part is played by whether a token ends in `-true`.

    Everything may be changed while it is served: dictionaries and flags, one value at a time.
    """

    def __init__(self, job: Manifest, terms: ConnectionTerms | None = None) -> None:
        self._terms = terms
        placed = job if "status" in job else at(job, "n-0")
        found = objects_of(placed, *pods_of(placed))
        [resource] = found.resources
        assert isinstance(resource, TrainingJob)
        self.job = resource
        self.pods = {pod.metadata.name: _owned(pod, resource) for pod in found.pods}
        self.registry = Registry()
        self.is_leading = True
        self.wakes = 0
        self.reviews: list[str] = []
        self.interruptions_per_hour: Mapping[str, Decimal] = {}
        self.port = 0
        self._loop = asyncio.new_event_loop()

    @property
    def url(self) -> str:
        """Where it is served."""
        return f"http://127.0.0.1:{self.port}"

    def token(self, replica: int = 0) -> str:
        """The token of a worker's pod."""
        return a_token(f"{self.job.metadata.name}-worker-{replica}")

    def said(self, replica: int = 0) -> WorkerReport | None:
        """What a worker said last, as the operator keeps it."""
        return self.registry.of(f"uid-Pod-{self.job.metadata.name}-worker-{replica}")

    def notify(self, notice: Notice | None) -> None:
        """Give the job a notice, or take it back."""
        status = self.job.status.model_copy(update={"notice": notice})
        self.job = self.job.model_copy(update={"status": status})

    def change_batch(self, batch: PlacedBatch) -> None:
        """Let the plan choose another batch for the job's gang."""
        placement = self.job.status.placement
        assert placement is not None
        placement = placement.model_copy(update={"batch": batch})
        status = self.job.status.model_copy(update={"placement": placement})
        self.job = self.job.model_copy(update={"status": status})

    @contextmanager
    def served(self, port: int = 0) -> Generator["WorkerEndpoint"]:
        """Serve it in a thread of its own, on the port that it had before if that is asked for."""
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        server = self._call(self._start(port))
        try:
            yield self
        finally:
            self._call(server.stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())

    async def _start(self, port: int) -> WorkerServer:
        around = Surroundings(
            leads=lambda: self.is_leading,
            pod_of=self._pod_of,
            pod=self._pod,
            resource=lambda uid: self.job if uid == self.job.metadata.uid else None,
            interruptions_per_hour=lambda: self.interruptions_per_hour,
            woken=self._woken,
        )
        server = WorkerServer(around, self.registry, host="127.0.0.1", port=port, terms=self._terms)
        self.port = await server.start()
        return server

    async def _pod_of(self, token: str, _asker: Hashable) -> PodIdentity | None:
        self.reviews.append(token)
        claims = claims_of(token, 0)
        return claims.pod if claims and token.endswith(TRUE) else None

    def _pod(self, name: str, namespace: str) -> Pod | None:
        return self.pods.get(name) if namespace == NAMESPACE else None

    def _woken(self) -> None:
        self.wakes += 1

    def _call(self, work: Any) -> Any:  # noqa: ANN401 - a coroutine and what comes of it
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)


def a_token(pod: str, *, sign: str = TRUE, **claims: Any) -> str:  # noqa: ANN401 - any JSON
    """A token that says it is of this pod, signed as is said."""
    payload = {
        "aud": ["plimsoll.dev"],
        "exp": datetime.now(UTC).timestamp() + 3600,
        "sub": f"system:serviceaccount:{NAMESPACE}:default",
        "kubernetes.io": {"namespace": NAMESPACE, "pod": {"name": pod, "uid": f"uid-Pod-{pod}"}},
    }
    return f"{_packed({'alg': 'RS256'})}.{_packed({**payload, **claims})}.{sign}"


def _packed(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def a_notice(name: str = "1-1", seconds: float = 60.0) -> Notice:
    """A notice that was sent now."""
    now = datetime.now(UTC)
    notice = Notice(id=name, reason="Preempted", sent_time=now, deadline=now, revision=1)
    late = datetime.fromtimestamp(now.timestamp() + seconds, UTC)
    return notice.model_copy(update={"deadline": late})


def _owned(pod: Pod, job: TrainingJob) -> Pod:
    meta = job.metadata
    owner = OwnerReference(job.api_version, job.kind, meta.name, meta.uid, controller=True)
    owned = msgspec.structs.replace(pod.metadata, owner_references=(owner,))
    return msgspec.structs.replace(pod, metadata=owned)
