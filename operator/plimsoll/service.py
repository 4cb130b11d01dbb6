"""Assemble the operator: watches, lease, loop, writer, probes; start and stop them."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NoReturn

from plimsoll.acting.writes.writer import WRITES, Writer
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.clock import SYSTEM
from plimsoll.control.cluster_watch import ClusterWatch
from plimsoll.control.known_objects import known_objects
from plimsoll.control.loop import Loop
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.resource_watch import ResourceWatch
from plimsoll.control.solving.solver_process import SolverProcess
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.heartbeat import Heartbeat
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.concurrency import ConcurrencyLimit
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.transport import Limits
from plimsoll.kube.lease import Leadership
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.probe_server import ProbeServer, Pulse
from plimsoll.kube.tokens.reviews import PODS, TokenReviews
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.target_reading import TARGET_LIMITS
from plimsoll.kube.watching.target_watch import TargetWatch
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.measured.prices import NodePrices
from plimsoll.observe.nodes.orders import Way
from plimsoll.observe.observer import Objects
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.targets.claims import references_of
from plimsoll.observe.views.pods import pods_of_kind
from plimsoll.planning.provisioning.start_times import longest_start_time
from plimsoll.routes.route_weights import RouteWeights
from plimsoll.settings import Settings
from plimsoll.signals.catalogue_watch import CatalogueWatch
from plimsoll.signals.ledger_watch import LedgerWatch
from plimsoll.signals.measurements import Measured, Measurements, Scope
from plimsoll.snapshots.recorder import Recorder, RecordingTerms
from plimsoll.supervision import Part, Supervisor
from plimsoll.vocabulary import logs, metrics
from plimsoll.workers.endpoint import Surroundings, WorkerServer, served
from plimsoll.workers.registry import Registry
from plimsoll.workers.thread import in_own_thread

PULSE_SECONDS = 120.0
REVIEWS = Limits(writes_at_once=8, writes_per_second=500)
"""At most this many token reviews per second, so that 10,000 workers are admitted in 20 s."""
_log = logs.logger(__name__)


class Operator:
    """One replica of the operator. All its state lives in the API server."""

    def __init__(self, endpoint: Endpoint, settings: Settings) -> None:
        self._endpoint, self._settings, self.clock = endpoint, settings, SYSTEM
        self._wake = asyncio.Event()
        wake = self._wake.set
        self._lease_client = KubeClient.to(endpoint)
        self.leadership = Leadership(
            self._lease_client,
            namespace=settings.namespace,
            name=settings.lease_name,
            identity=settings.identity,
            changed=wake,
        )
        at_once = ConcurrencyLimit(WRITES)
        metrics.API_WRITES_AT_ONCE.set_function(at_once)
        self._client = KubeClient.to(
            endpoint,
            may_write=self.leadership.is_leader,
            limits=Limits(writes_per_second=settings.writes_per_second),
            writes_at_once=at_once,
        )
        self.resources = CustomResources(self._resources_changed)
        watching = WatchTerms(watch_seconds=settings.watch_seconds)
        self._watch = ClusterWatch(
            self._client,
            watching,
            adopts_jobs=settings.adopts_jobs,
            buys_nodes=settings.buys_nodes,
            requests_in=settings.namespace if settings.requests_nodes else None,
            changed=wake,
        )
        terms = replace(watching, longest_between_lists_seconds=settings.relist_seconds)
        self._resource_watch = ResourceWatch(self._client, self.resources, wake, terms)
        # A separate client, because a target may be of any kind and its API may hang indefinitely.
        self._target_client = KubeClient.to(
            endpoint,
            may_write=self.leadership.is_leader,
            limits=replace(TARGET_LIMITS, writes_per_second=settings.writes_per_second),
        )
        self._targets = TargetWatch(
            self._target_client, self._references, wake, seconds=settings.target_seconds
        )
        self._solver, self._recorder, self._registry = (
            SolverProcess(),
            _recorder(settings),
            Registry(),
        )
        self._loop = Loop(
            self, self._solver, self._wake, recorder=self._recorder, terms=_loop_terms(settings)
        )
        self._catalogue = (
            CatalogueWatch(Path(settings.prices_file), wake) if settings.prices_file else None
        )
        self._ledger = self._watching_the_ledger() if settings.ledger_lease else None
        self._measurements = self._measuring() if settings.prometheus_url else None
        self._events = EventRecorder(self._client, instance=settings.identity)
        self._writer = Writer(
            self._client, self._target_client, self._events, self._loop, at_once=at_once
        )
        self._routes = self._weighing_routes(watching) if settings.weighs_routes else None
        self._turning = False
        self._pulse = Pulse(limit_seconds=PULSE_SECONDS)
        self._server = ProbeServer(
            alive=self._stillness, ready=self._staleness, host=settings.host, port=settings.port
        )
        self._supervisor = Supervisor()

    async def _serve_workers(self, woken: Callable[[], None]) -> None:
        """Serve workers in whichever event loop calls this."""
        settings, may_write = self._settings, self.leadership.is_leader
        # A separate client, so that many workers arriving at once do not hold up other writes.
        async with KubeClient.to(self._endpoint, may_write=may_write, limits=REVIEWS) as client:
            around = Surroundings(
                leads=self.leadership.is_leader,
                pod_of=TokenReviews(client, PODS).bearer_of,
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
            pools=self._pools,
            changed=self._wake.set,
            leads=self.leadership.is_leader,
            services_known=self._services_known,
            node_of=self._node_of,
        )
        return Measurements(self._settings, scope)

    def _weighing_routes(self, terms: WatchTerms) -> RouteWeights:
        leads = self.leadership.is_leader
        return RouteWeights(self._client, self._events, lambda: self._loop.latest, leads, terms)

    def _watching_the_ledger(self) -> LedgerWatch:
        settings = self._settings
        lease = Heartbeat(self._client, namespace=settings.namespace, name=settings.ledger_lease)
        return LedgerWatch(lease, self.clock.now)

    def _node_of(self, namespace: str, name: str) -> str | None:
        """The node of a pod; None if the pod does not exist or is not bound."""
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
        """All objects as the watches currently know them."""
        now = self.clock.now()
        measured = self._measurements.current(now) if self._measurements else Measured()
        return replace(
            known_objects(self._watch, self.resources, self._targets),
            reports=self._registry.current(now),
            gpu_faults=measured.gpu_faults,
            demands=measured.demands,
            power=measured.power,
            energy=measured.energy,
            ledger=self._ledger.current() if self._ledger else None,
            prices=self._node_prices(measured),
        )

    def _node_prices(self, measured: Measured) -> NodePrices:
        sources = [self._catalogue.current()] if self._catalogue else []
        sources += [measured.prices] if self._measurements else []
        known = [each for each in sources if each is not None]
        return NodePrices(tuple(chain.from_iterable(known)), complete=len(known) == len(sources))

    def _pools(self) -> list[GPUPool]:
        return [each for each in self.resources.all() if isinstance(each, GPUPool)]

    def services(self) -> list[InferenceJob]:
        """The services whose load is measured; services with a target carry its role."""
        jobs = [each for each in self.resources.all() if isinstance(each, InferenceJob)]
        seen = ((job, self._loop.targeting.get(job.metadata.uid)) for job in jobs)
        return [view.inference or job if view else job for job, view in seen]

    def pods_of_services(self) -> list[PodView]:
        """Pods of services; omits what our own pods take of their nodes."""
        ours = pods_of_kind(self._watch.pods.objects.values(), InferenceJob.definition.kind)
        return [*ours, *(pod for view in self._loop.targeting.values() for pod in view.pods)]

    def node_start_time(self) -> timedelta:
        """How long replicas may have to wait for a new node."""
        return longest_start_time(self._pools()) if _ways(self._settings) else timedelta()

    def missed(self, kind: str) -> None:
        """Doubt the known objects of a custom resource kind: a deletion event was missed."""
        self._resource_watch.missed(kind)

    def wrote_pod(self, pod: Pod) -> None:
        """Take in a pod as written, before the watch reports it."""
        self._watch.pods.applied(pod)

    def wrote_node(self, node: Node) -> None:
        """Take in a node as written, before the watch reports it."""
        self._watch.nodes.applied(node)

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """Take in a target's replica count as written."""
        self._targets.scaled(reference, scale)

    def wrote_workload(self, item: WorkloadObject) -> None:
        """Take in an adopted workload as written, before the watch reports it."""
        self._watch.wrote_workload(item)

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """Take in an ordered node as written, before the watch reports it."""
        self._watch.wrote_node_claim(claim)

    def wrote_provisioning_request(self, request: ProvisioningRequest) -> None:
        """Take in a request for nodes as written, before the watch reports it."""
        self._watch.wrote_provisioning_request(request)

    def doubted(self, reference: Reference) -> None:
        """Read a target again: its replica count differs from the assumed one."""
        self._targets.read_again(reference)

    def _resources_changed(self) -> None:
        self._wake.set()
        self._targets.look()

    def _references(self) -> list[Reference]:
        return references_of(self.resources.all())

    async def start(self) -> None:
        """Start watching and campaigning for the lease, and act once leader."""
        port = await self._server.start()
        _log.info("serving probes and metrics", port=port, identity=self._settings.identity)
        # What a search needs takes seconds to load: beside the first lists.
        self._solver.warm_up()
        # First, because whatever is read before leadership is certain has to be read again.
        await self.leadership.attend()
        for part in self._parts():
            self._supervisor.begin(part)

    def _parts(self) -> Iterator[Part]:
        """What runs from start to stop; whatever fails is restarted."""
        yield Part("lease", self.leadership.run)
        yield from self._watch.parts()
        yield from self._resource_watch.parts()
        yield Part("targets", self._follow_targets)
        yield Part("events", self._events.run)
        yield Part("workers", self._keep_serving_workers)
        yield from self._writer.parts()
        yield from self._measurements.parts() if self._measurements else ()
        if self._catalogue:
            yield Part("price catalogue", self._catalogue.run)
        if self._ledger:
            yield Part("ledger", self._ledger.run)
        yield from self._routes.parts() if self._routes else ()
        yield Part("loop", self._lead)

    async def stop(self) -> None:
        """Stop acting, release the lease, and end."""
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
        """Read targets once they are known."""
        await self._resource_watch.wait_synced()
        await self._targets.run()

    async def _lead(self) -> NoReturn:
        """Run the loop whenever this replica leads and its view of the cluster is synced."""
        await self._watch.wait_synced()
        await self._resource_watch.wait_synced()
        # There was nothing to plan until now, however long the API server kept us waiting.
        self._pulse.beat()
        self._turning = True
        await self._loop.run(self._writer, self._pulse.beat, self._may_act)

    def _may_act(self) -> bool:
        """Whether this replica leads and has seen everything its predecessor wrote.

        A standby may have been cut off for half a minute without noticing.
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
        ways=_ways(settings),
        requests_in=settings.namespace,
    )


def _ways(settings: Settings) -> frozenset[Way]:
    """How nodes may be ordered."""
    may = {
        Way.NODE_CLAIM: settings.buys_nodes,
        Way.PROVISIONING_REQUEST: settings.requests_nodes,
    }
    return frozenset(way for way, is_so in may.items() if is_so)
