"""The operator as one thing that starts and stops: watches, lease, loop, writer, probes."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NoReturn

from plimsoll import telemetry
from plimsoll.acting.writes.writer import Writer
from plimsoll.api.inference_job import InferenceJob
from plimsoll.control.cluster_watch import ClusterWatch
from plimsoll.control.loop import Loop
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.resource_watch import ResourceWatch
from plimsoll.control.solver_process import Solver
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.transport import Limits
from plimsoll.kube.lease import Leadership
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.probe_server import ProbeServer, Pulse
from plimsoll.kube.tokens.reviews import TokenReviews
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.target_reading import TARGET_LIMITS
from plimsoll.kube.watching.target_watch import TargetWatch
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.observer import Objects
from plimsoll.observe.snapshot import JOB_KIND, PodView
from plimsoll.observe.targets.claims import reference_of
from plimsoll.observe.views.pods import pod_view
from plimsoll.settings import Settings
from plimsoll.signals.measurements import Measured, Measurements, Scope
from plimsoll.snapshots.recorder import Recorder, RecordingTerms
from plimsoll.supervision import Part, Supervisor
from plimsoll.workers.endpoint import Surroundings, WorkerServer, served
from plimsoll.workers.registry import Registry
from plimsoll.workers.thread import in_own_thread

PULSE_SECONDS = 120.0
REVIEWS = Limits(writes_at_once=8, writes_per_second=500)
"""How many workers' tokens the API server is asked about: those of 10,000 in 20 s."""
_log = telemetry.logger(__name__)


class Operator:
    """One replica of the operator. Everything it knows is in the API server."""

    def __init__(self, endpoint: Endpoint, settings: Settings) -> None:
        self._endpoint, self._settings = endpoint, settings
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
        self._client = KubeClient(
            endpoint,
            may_write=self.leadership.is_leader,
            limits=Limits(writes_per_second=settings.writes_per_second),
        )
        self.resources = CustomResources(self._resources_changed)
        terms = WatchTerms(watch_seconds=settings.watch_seconds)
        self._watch = ClusterWatch(self._client, terms, changed=wake)
        terms = replace(terms, longest_between_lists_seconds=settings.relist_seconds)
        self._resource_watch = ResourceWatch(self._client, self.resources, wake, terms)
        # Apart from all else, for a target may be of any kind, and hang for as long as it may.
        self._target_client = KubeClient(
            endpoint,
            may_write=self.leadership.is_leader,
            limits=replace(TARGET_LIMITS, writes_per_second=settings.writes_per_second),
        )
        self._targets = TargetWatch(
            self._target_client, self._references, wake, seconds=settings.target_seconds
        )
        self._solver, self._recorder, self._registry = Solver(), _recorder(settings), Registry()
        self._loop = Loop(
            self, self._solver, self._wake, recorder=self._recorder, terms=_loop_terms(settings)
        )
        self._measurements = self._measuring() if settings.prometheus_url else None
        self._events = EventRecorder(self._client, instance=settings.identity)
        self._writer = Writer(self._client, self._target_client, self._events, self._loop)
        self._turning = False
        self._pulse = Pulse(limit_seconds=PULSE_SECONDS)
        self._server = ProbeServer(
            alive=self._stillness, ready=self._staleness, host=settings.host, port=settings.port
        )
        self._supervisor = Supervisor()

    async def _serve_workers(self, woken: Callable[[], None]) -> None:
        """Answer workers, in whichever event loop this runs."""
        settings, may_write = self._settings, self.leadership.is_leader
        # Apart from the other writes, so that many workers that come at once hold nothing up.
        async with KubeClient(self._endpoint, may_write=may_write, limits=REVIEWS) as client:
            around = Surroundings(
                leads=self.leadership.is_leader,
                pod_of=TokenReviews(client).pod_of,
                pod=self._watch.pods.get,
                resource=self.resources.get,
                interruptions_per_hour=lambda: self._loop.interruptions_per_hour,
                woken=woken,
            )
            await served(
                WorkerServer(around, self._registry, host=settings.host, port=settings.worker_port),
                lambda port: _log.info(
                    "serving workers", worker_port=port, url=settings.worker_url
                ),
            )

    async def _keep_serving_workers(self) -> None:
        loop = asyncio.get_running_loop()

        def woken() -> None:
            loop.call_soon_threadsafe(self._wake.set)

        await in_own_thread(partial(self._serve_workers, woken), "workers")

    def _measuring(self) -> Measurements:
        scope = Scope(
            services=self,
            latest=lambda: self._loop.latest,
            changed=self._wake.set,
            leads=self.leadership.is_leader,
            services_known=self._services_known,
            node_of=self._node_of,
        )
        return Measurements(self._settings, scope)

    def _node_of(self, namespace: str, name: str) -> str | None:
        """The node of a pod; None where there is no such pod, or it has none."""
        pod = self._watch.pods.get(name, namespace)
        return pod.spec.node_name or None if pod is not None else None

    def _stillness(self) -> list[str]:
        return self._pulse.problems() if self._turning else []

    def _staleness(self) -> list[str]:
        limit = self._settings.stale_seconds
        known = (self._watch, self._resource_watch)
        stale = [problem for each in known for problem in each.staleness(limit_seconds=limit)]
        return [*stale, *self._supervisor.problems()]

    def objects(self) -> Objects:
        """Everything, as the watches know it now."""
        watch, now = self._watch, datetime.now(UTC)
        measured = self._measurements.current(now) if self._measurements else Measured()
        return Objects(
            nodes=tuple(watch.nodes.objects.values()),
            pods=tuple(watch.pods.objects.values()),
            resources=self.resources.all(),
            refused=self.resources.refused(),
            priority_classes=tuple(watch.priority_classes.objects.values()),
            budgets=tuple(watch.budgets.objects.values()),
            namespaces=tuple(watch.namespaces.objects.values()),
            targets=self._targets.readings(),
            reports=self._registry.current(now),
            gpu_faults=measured.gpu_faults,
            demands=measured.demands,
            power=measured.power,
            energy=measured.energy,
        )

    def services(self) -> list[InferenceJob]:
        """The services, whose load is measured; those with a target have its role."""
        jobs = [each for each in self.resources.all() if isinstance(each, InferenceJob)]
        seen = ((job, self._loop.targeting.get(job.metadata.uid)) for job in jobs)
        return [view.inference or job if view else job for job, view in seen]

    def pods_of_services(self) -> list[PodView]:
        """Their pods; what our own take of their nodes is left out."""
        kind = InferenceJob.definition.kind
        ours = [
            pod_view(pod, Requests())
            for pod in self._watch.pods.objects.values()
            if pod.metadata.labels.get(JOB_KIND) == kind
        ]
        return [*ours, *(pod for view in self._loop.targeting.values() for pod in view.pods)]

    def missed(self, kind: str) -> None:
        """Doubt what is known of a kind of custom resource: a deletion was not told of."""
        self._resource_watch.missed(kind)

    def wrote_pod(self, pod: Pod) -> None:
        """Take in a pod as it was written, before the watch says it."""
        self._watch.pods.applied(pod)

    def wrote_node(self, node: Node) -> None:
        """Take in a node as it was written, before the watch says it."""
        self._watch.nodes.applied(node)

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """Take in the count of a target as it was written."""
        self._targets.scaled(reference, scale)

    def doubted(self, reference: Reference) -> None:
        """Read a target again: it has not the count that it was thought to have."""
        self._targets.read_again(reference)

    def _resources_changed(self) -> None:
        self._wake.set()
        self._targets.look()

    def _references(self) -> list[Reference]:
        """The workloads that jobs target."""
        jobs = (each for each in self.resources.all() if isinstance(each, InferenceJob))
        return [reference for job in jobs if (reference := reference_of(job)) is not None]

    async def start(self) -> None:
        """Begin to watch, to stand for leader, and as the leader to act."""
        port = await self._server.start()
        _log.info("serving probes and metrics", port=port, identity=self._settings.identity)
        # First, for what is read before it is known that nobody else writes is read twice.
        await self.leadership.attend()
        for part in self._parts():
            self._supervisor.begin(part)

    def _parts(self) -> Iterator[Part]:
        """What runs from the start to the end; what fails of it is begun anew."""
        yield Part("lease", self.leadership.run)
        yield from self._watch.parts()
        yield from self._resource_watch.parts()
        yield Part("targets", self._follow_targets)
        yield Part("events", self._events.run)
        yield Part("workers", self._keep_serving_workers)
        yield from self._writer.parts()
        yield from self._measurements.parts() if self._measurements else ()
        yield Part("loop", self._lead)

    async def stop(self) -> None:
        """Stop acting, hand over the lease, end."""
        await self._supervisor.stop()
        await self._recorder.close()
        await self.leadership.release()
        await self._server.stop()
        await asyncio.to_thread(self._solver.close)
        if self._measurements:
            self._measurements.close()
        for client in (self._client, self._target_client, self._lease_client):
            await client.__aexit__(None, None, None)

    async def _services_known(self) -> None:
        await self._watch.pods.wait_synced()
        await self._resource_watch.wait_synced()

    async def _follow_targets(self) -> NoReturn:
        """Read targets once it is known which there are."""
        await self._resource_watch.wait_synced()
        await self._targets.run()

    async def _lead(self) -> NoReturn:
        """Turn the loop whenever this replica leads and knows the cluster."""
        await self._watch.wait_synced()
        await self._resource_watch.wait_synced()
        # Until here there was nothing to turn for, however long the API server kept us waiting.
        self._pulse.beat()
        self._turning = True
        await self._loop.run(self._writer, self._pulse.beat, self._may_act)

    def _may_act(self) -> bool:
        """Whether this replica leads, and knows all that the one before it has written.

        One that stands by may have been deaf for half a minute without knowing it.
        """
        since = self.leadership.alone_since
        if since is None:
            return False
        known = (self._watch, self._resource_watch, self._targets)
        late = [each for each in known if not each.is_from(since)]
        return not late


def _recorder(settings: Settings) -> Recorder:
    folder = Path(settings.snapshot_dir) if settings.snapshot_dir else None
    return Recorder(folder, RecordingTerms(settings.snapshots_kept, settings.snapshot_seconds))


def _loop_terms(settings: Settings) -> LoopTerms:
    return LoopTerms(
        large=settings.large_cluster,
        worker_url=settings.worker_url,
        asks_for_loads=bool(settings.prometheus_url),
    )
