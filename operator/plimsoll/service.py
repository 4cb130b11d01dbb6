"""The operator as one thing that starts and stops: watches, lease, loop, writer, probes."""

import asyncio
import contextlib
import math
import signal
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from plimsoll import telemetry
from plimsoll.acting.writing import Writer
from plimsoll.api.definition import GROUP, VERSION, Definition
from plimsoll.api.kinds import KINDS
from plimsoll.errors import ApiError
from plimsoll.kube.client import KubeClient
from plimsoll.kube.credentials import Endpoint
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.lease import Leadership
from plimsoll.kube.objects import Node, Pod, PodDisruptionBudget, PriorityClass
from plimsoll.kube.resources import (
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from plimsoll.kube.server import ProbeServer, Pulse, stale_watches
from plimsoll.kube.sharing import PodSharing
from plimsoll.kube.token_reviews import TokenReviews
from plimsoll.kube.transport import Limits
from plimsoll.kube.watch import ListWatch
from plimsoll.loop import Loop, LoopTerms
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.observer import Objects
from plimsoll.settings import Settings
from plimsoll.signals.connection import Terms
from plimsoll.signals.fault_watch import FaultWatch
from plimsoll.signals.prometheus import Prometheus
from plimsoll.snapshots.recorder import Recorder, RecordingTerms
from plimsoll.solving import Solver
from plimsoll.workers.registry import Registry
from plimsoll.workers.server import Surroundings, WorkerServer

PULSE_SECONDS = 120.0
UNCERTAIN_SECONDS = 60.0
"""For how long after a watch broke others may still be broken."""
REVIEWS_AT_ONCE = 8
"""How many workers' tokens the API server is asked about at a time."""
RECOVERY_SECONDS = 5.0
"""How often the custom resources are listed meanwhile."""
_log = telemetry.logger(__name__)


class Operator:
    """One replica of the operator. Everything it knows is in the API server."""

    def __init__(self, endpoint: Endpoint, settings: Settings) -> None:
        self._settings = settings
        self._wake = asyncio.Event()
        wake = self._wake.set
        self._lease_client = KubeClient(endpoint)
        self.leadership = Leadership(
            self._lease_client,
            namespace=settings.namespace,
            name=settings.lease_name,
            identity=settings.identity,
            changed=wake,
        )
        self._client = KubeClient(endpoint, may_write=self.leadership.is_leader)
        self.resources = CustomResources(wake)
        self._nodes = ListWatch(self._client, NODES, Node, changed=wake, lost=self._lost)
        self._pods = ListWatch(
            self._client, PODS, Pod, keep=PodSharing(), changed=wake, lost=self._lost
        )
        self._classes = ListWatch(
            self._client, PRIORITY_CLASSES, PriorityClass, changed=wake, lost=self._lost
        )
        self._budgets = ListWatch(
            self._client,
            POD_DISRUPTION_BUDGETS,
            PodDisruptionBudget,
            changed=wake,
            lost=self._lost,
        )
        self._solver = Solver()
        self._recorder = _recorder(settings)
        self._registry = Registry()
        self._prometheus = _prometheus(settings)
        self._faults = self._prometheus and FaultWatch(
            self._prometheus,
            wake,
            seconds=settings.prometheus_seconds,
            matchers=settings.prometheus_matchers,
        )
        # Apart from the other writes, so that many workers that come at once hold nothing up.
        self._review_client = KubeClient(
            endpoint,
            may_write=self.leadership.is_leader,
            limits=Limits(writes_at_once=REVIEWS_AT_ONCE),
        )
        self._workers = WorkerServer(
            Surroundings(
                leads=self.leadership.is_leader,
                pod_of=TokenReviews(self._review_client).pod_of,
                pod=self._pods.get,
                resource=self.resources.get,
                interruptions_per_hour=lambda: self._loop.interruptions_per_hour,
                woken=wake,
            ),
            self._registry,
            host=settings.host,
            port=settings.worker_port,
        )
        self._loop = Loop(
            self,
            self._solver,
            self._wake,
            recorder=self._recorder,
            terms=LoopTerms(large=settings.large_cluster, worker_url=settings.worker_url),
        )
        self._events = EventRecorder(self._client, instance=settings.identity)
        self._writer = Writer(self._client, self._events, self._loop)
        self._turning = False
        self._pulse = Pulse(limit_seconds=PULSE_SECONDS)
        self._server = ProbeServer(
            alive=self._stillness,
            ready=self._staleness,
            host=settings.host,
            port=settings.port,
        )
        self._listed = asyncio.Event()
        self._list_again = asyncio.Event()
        self._uncertain_until = -math.inf
        self._tasks: list[asyncio.Task[Any]] = []

    @property
    def _watches(self) -> tuple[ListWatch[Any], ...]:
        return self._nodes, self._pods, self._classes, self._budgets

    def _stillness(self) -> list[str]:
        return self._pulse.problems() if self._turning else []

    def _staleness(self) -> list[str]:
        limit = self._settings.stale_seconds
        problems = stale_watches(self._watches, now=time.monotonic(), limit_seconds=limit)
        return (
            problems if self._listed.is_set() else [*problems, "custom resources: not listed yet"]
        )

    def objects(self) -> Objects:
        """Everything, as the watches know it now."""
        return Objects(
            nodes=tuple(self._nodes.objects.values()),
            pods=tuple(self._pods.objects.values()),
            resources=self.resources.all(),
            priority_classes=tuple(self._classes.objects.values()),
            budgets=tuple(self._budgets.objects.values()),
            reports=self._registry.current(datetime.now(UTC)),
            gpu_faults=self._faults.current() if self._faults else (),
        )

    def wrote_pod(self, pod: Pod) -> None:
        """Take in a pod as it was written, before the watch says it."""
        self._pods.applied(pod)

    async def start(self) -> None:
        """Begin to watch, to stand for leader, and as the leader to act."""
        port = await self._server.start()
        _log.info("serving probes and metrics", port=port, identity=self._settings.identity)
        worker_port = await self._workers.start()
        _log.info("serving workers", worker_port=worker_port, url=self._settings.worker_url)
        for watch in self._watches:
            self._spawn(watch.run())
        self._spawn(self._relist())
        self._spawn(self.leadership.run())
        self._spawn(self._events.run())
        self._spawn(self._writer.run())
        if self._faults:
            self._spawn(self._faults.run())
        self._spawn(self._lead())

    async def stop(self) -> None:
        """Stop acting, hand over the lease, end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._recorder.close()
        await self.leadership.release()
        await self._workers.stop()
        await self._server.stop()
        await asyncio.to_thread(self._solver.close)
        if self._prometheus:
            self._prometheus.close()
        for client in (self._client, self._lease_client, self._review_client):
            await client.__aexit__(None, None, None)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(_end_with)
        self._tasks.append(task)

    async def _lead(self) -> NoReturn:
        """Turn the loop whenever this replica leads and knows the cluster."""
        await asyncio.gather(*(watch.wait_synced() for watch in self._watches))
        await self._listed.wait()
        # Until here there was nothing to turn for, however long the API server kept us waiting.
        self._pulse.beat()
        self._turning = True
        await self._loop.run(self._writer, self._pulse.beat, self.leadership.is_leader)

    def _lost(self) -> None:
        """The API server was lost for a moment, and so perhaps kopf's watches."""
        self._uncertain_until = time.monotonic() + UNCERTAIN_SECONDS
        self._list_again.set()

    async def _relist(self) -> NoReturn:
        """List the custom resources in full now and then, and more often after a watch broke.

        Of what is deleted while a watch of kopf's is broken nobody tells us: it shows only here.
        """
        while True:
            self._list_again.clear()
            try:
                for kind in KINDS:
                    await self._list(kind.definition)
                self._listed.set()
            except ApiError as error:
                _log.warning("custom resources not listed", error=str(error))
                await asyncio.sleep(1.0)
                continue
            uncertain = time.monotonic() < self._uncertain_until
            seconds = RECOVERY_SECONDS if uncertain else self._settings.relist_seconds
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._list_again.wait(), seconds)

    async def _list(self, kind: Definition) -> None:
        uids: list[str] = []
        version = 0
        everywhere = Resource(GROUP, VERSION, kind.plural).everywhere()
        async for page in self._client.pages(everywhere, dict[str, Any]):
            version = int(page.metadata.resource_version)
            for raw in page.items or ():
                self.resources.told({**raw, "kind": kind.kind})
                uids.append(raw["metadata"]["uid"])
        self.resources.listed(kind.kind, uids, version)


def _recorder(settings: Settings) -> Recorder:
    folder = Path(settings.snapshot_dir) if settings.snapshot_dir else None
    return Recorder(folder, RecordingTerms(settings.snapshots_kept, settings.snapshot_seconds))


def _prometheus(settings: Settings) -> Prometheus | None:
    if not settings.prometheus_url:
        return None
    return Prometheus(
        Terms(
            url=settings.prometheus_url,
            token_file=settings.prometheus_token_file,
            username_file=settings.prometheus_username_file,
            password_file=settings.prometheus_password_file,
            ca_file=settings.prometheus_ca_file,
            insecure=settings.prometheus_insecure,
            timeout_seconds=settings.prometheus_timeout_seconds,
        )
    )


def _end_with(task: asyncio.Task[Any]) -> None:
    """A part that ends by itself takes the process along: Kubernetes starts a whole one."""
    if task.cancelled():
        return
    _log.critical("a part of the operator has ended", error=repr(task.exception()))
    signal.raise_signal(signal.SIGTERM)
