"""The twin: an API server and kubelets in memory, and the operator's loop and writer on them."""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from plimsoll.acting.writes.writer import Writer
from plimsoll.api.definition import API_VERSION
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.clock import Clock
from plimsoll.control.loop import Loop
from plimsoll.control.loop_terms import GC_THRESHOLDS, LoopTerms
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import KubeObject, Namespace, Node, Pod, PriorityClass
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.nodes.orders import Way
from plimsoll.observe.observer import Objects
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.views.pods import pods_of_kind
from plimsoll.planning.provisioning.start_times import longest_start_time
from plimsoll.signals.load.load_watch import LoadTerms, LoadWatch
from plimsoll.snapshots.recorder import Recorder
from plimsoll_simulator.cluster.api_server import ApiServer, Change
from plimsoll_simulator.cluster.garbage import GarbageCollector
from plimsoll_simulator.cluster.kubelets import Kubelets
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.provider import Provider
from plimsoll_simulator.cluster.scheduler import Scheduler
from plimsoll_simulator.diary import Diary
from plimsoll_simulator.inline_solver import InlineSolver
from plimsoll_simulator.programs.by_kind import ByKind
from plimsoll_simulator.programs.serving import Serving, TrueService
from plimsoll_simulator.programs.training import Training, TrueSpeed
from plimsoll_simulator.prometheus import WINDOW_SECONDS, Prometheus
from plimsoll_simulator.virtual_time import VirtualTimeLoop, clock_of

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
_KIND_OF = {definition.definition.plural: name for name, definition in KIND_BY_NAME.items()}
TYPE_OF: dict[str, type[KubeObject]] = {
    "nodes": Node,
    "pods": Pod,
    "namespaces": Namespace,
    "priorityclasses": PriorityClass,
    "nodeclaims": NodeClaim,
}
"""Of the kinds that are not Plimsoll's own, by plural."""
_PLURAL_OF = {
    **{kind: plural for plural, kind in _KIND_OF.items()},
    **{type_.__name__: plural for plural, type_ in TYPE_OF.items()},
}


@dataclass(frozen=True, slots=True)
class TwinTerms:
    """How the twin's operator is set: it looks less often than a real one, to be faster.

    `operate`: what places pods, if it is not to be the operator.
    """

    begins: datetime = BEGINS
    most_effort_seconds: float = 0.0
    loop: LoopTerms = field(
        default_factory=lambda: LoopTerms(
            pause_seconds=5.0,
            busy_pause_seconds=5.0,
            idle_seconds=15.0,
            cluster_status_seconds=300.0,
            unchanged_seconds=0.0,
            recheck_seconds=0.0,
        )
    )
    load_seconds: int = 30
    operate: "Operate | None" = None


class Twin:
    """A cluster and its operator. Everything in it happens within `lived`."""

    def __init__(self, clock: Clock, terms: TwinTerms) -> None:
        self.clock, self._terms = clock, terms
        self.api = ApiServer(clock)
        self.diary = Diary(self.api, clock)
        self.training = Training(self.api, clock)
        self.serving = Serving(self.api, clock)
        programs = ByKind({"InferenceJob": self.serving}, self.training)
        self.kubelets = Kubelets(self.api, clock, programs)
        Scheduler(self.api, clock, self.kubelets.bound)
        GarbageCollector(self.api)
        self.provider = Provider(self.api, clock)
        self.training.finish, self.training.woken = self.kubelets.finish, self._woken
        self._wake = asyncio.Event()
        self.resources = CustomResources(self._woken)
        self._known: dict[str, dict[tuple[str, str], Any]] = {each: {} for each in TYPE_OF}
        self.solver = InlineSolver(terms.most_effort_seconds)
        self._prometheus = Prometheus(clock)
        loads = LoadTerms(terms.load_seconds, WINDOW_SECONDS, clock=clock)
        self._loads = LoadWatch(self._prometheus, self, self._woken, terms=loads)
        self.api.listen(self._heard)

    # What users do.

    def apply(
        self, manifest: Raw, speed: TrueSpeed | None = None, *, changes_batch: bool = False
    ) -> Raw:
        """Create an object; a job's pods train at a speed, and may change their batch."""
        made = self.api.create(_PLURAL_OF[manifest["kind"]], manifest)
        if speed is not None:
            self.training.add(made, speed, changes_batch=changes_batch)
        return made

    def serve(self, manifest: Raw, truth: TrueService) -> Raw:
        """Create a service that meets with this; it asks for its load. Raises ValueError."""
        made = self.api.create(_PLURAL_OF[manifest["kind"]], manifest)
        self._prometheus.add(InferenceJob.model_validate(made), truth.requests)
        self.serving.add(made, truth)
        return made

    # The operator's view.

    def _heard(self, change: Change) -> None:
        plural, place = change.key.plural, (change.key.namespace, change.key.name)
        if plural in TYPE_OF:
            if change.after is None:
                del self._known[plural][place]
            else:
                self._known[plural][place] = msgspec.convert(change.after, TYPE_OF[plural])
            self._woken()
        elif plural in _KIND_OF:
            found = change.before if change.after is None else change.after
            raw = {**(found or {}), "apiVersion": API_VERSION, "kind": _KIND_OF[plural]}
            (self.resources.gone if change.after is None else self.resources.received)(raw)

    def _woken(self) -> None:
        self._wake.set()

    def objects(self) -> Objects:
        """All objects as they are."""
        claims = self._known["nodeclaims"].values()
        return Objects(
            nodes=tuple(self._known["nodes"].values()),
            pods=tuple(self._known["pods"].values()),
            resources=self.resources.all(),
            refused=self.resources.refused(),
            priority_classes=tuple(self._known["priorityclasses"].values()),
            namespaces=tuple(self._known["namespaces"].values()),
            reports=tuple(self.training.reports()),
            demands=self._loads.current(),
            node_claims=tuple(claims) if Way.NODE_CLAIM in self._terms.loop.ways else None,
        )

    def services(self) -> list[InferenceJob]:
        """The services."""
        return [each for each in self.resources.all() if isinstance(each, InferenceJob)]

    def pods_of_services(self) -> Iterator[PodView]:
        """Their pods."""
        return pods_of_kind(self._known["pods"].values(), InferenceJob.definition.kind)

    def node_start_time(self) -> timedelta:
        """How long replicas may have to wait for a new node."""
        return longest_start_time(
            each for each in self.resources.all() if isinstance(each, GPUPool)
        )

    def missed(self, kind: str) -> None:
        """Nothing is ever missed."""

    def wrote_pod(self, pod: Pod) -> None:
        """It is known already."""

    def wrote_node(self, node: Node) -> None:
        """It is known already."""

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """It is known already."""

    def wrote_workload(self, item: WorkloadObject) -> None:
        """Take in an adopted workload as written: here there are none."""

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """It is known already."""

    def wrote_provisioning_request(self, request: ProvisioningRequest) -> None:
        """Take in a request for nodes as written: here none are ordered."""

    def doubted(self, reference: Reference) -> None:
        """Nothing is assumed."""

    async def operate(self) -> None:
        """Run the operator, or what stands for it, until cancelled."""
        await (self._terms.operate or Twin._operator)(self)

    async def _operator(self) -> None:
        client = KubeClient(self.api)
        loop = Loop(self, self.solver, self._wake, recorder=Recorder(None), terms=self._terms.loop)
        events = EventRecorder(client, clock=self.clock.now)
        writer = Writer(client, client, events, loop, clock=self.clock)
        async with asyncio.TaskGroup() as group:
            group.create_task(events.run())
            for part in writer.parts():
                group.create_task(part.run())
            group.create_task(self._loads.run(lambda: True))
            group.create_task(loop.run(writer, lambda: None, lambda: True))


def _fail(
    failed: asyncio.Future[None], _: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    """Let an error that nobody awaits, such as a kubelet's, end the twin."""
    if not failed.done():
        failed.set_exception(context.get("exception") or RuntimeError(context["message"]))


Operate = Callable[[Twin], Coroutine[Any, Any, None]]
Story = Callable[[Twin], Coroutine[Any, Any, None]]


def lived(story: Story, terms: TwinTerms | None = None) -> Twin:
    """The twin after a story: it begins empty, and is left as soon as the story is over."""
    terms = terms or TwinTerms()
    loop = VirtualTimeLoop()

    async def whole() -> Twin:
        failed = loop.create_future()
        loop.set_exception_handler(partial(_fail, failed))
        twin = Twin(clock_of(loop, terms.begins), terms)
        parts = (asyncio.ensure_future(twin.operate()), failed)
        telling = asyncio.create_task(story(twin))
        await asyncio.wait({*parts, telling}, return_when=asyncio.FIRST_COMPLETED)
        for each in (*parts, telling):
            if each.done():
                each.result()
            each.cancel()
        await asyncio.wait({*parts, telling})
        return twin

    with _seldom_collecting(), asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(whole())


@contextmanager
def _seldom_collecting() -> Generator[None]:
    """Look for cycles as seldom as the operator's own process does."""
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
