"""Serving in the twin's pods: what each answers of the requests that come, and what nobody does.

Requests go to all replicas that may serve, as much to each as it can answer within its promise; of
what is more, each request misses it. None waits for another, so what was missed is never made up
for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from plimsoll.api.inference_job import InferenceJob
from plimsoll.clock import Clock
from plimsoll.observe.labels import JOB_UID
from plimsoll_simulator.cluster.api_server import ApiServer, Change, Key
from plimsoll_simulator.cluster.nodes import gpu_type_of
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import READY, holds, is_deleted
from plimsoll_simulator.programs.request_rate import RequestRate

START_SECONDS = 5.0
"""How long a replica takes from being bound until it can answer, if nothing is said of it."""
STOP_SECONDS = 2.0
"""How long a replica takes to end once it is told to and answers nothing any more."""


@dataclass(frozen=True, slots=True)
class TrueService:
    """What a service really meets with.

    `answers`: the requests per second that a replica answers within its promise, by GPU type.
    `start_seconds`: how long a replica takes from being bound until it can answer. `types`: by the
    node's name, what its GPUs are called if not as its labels say.
    """

    requests: RequestRate
    answers: Mapping[str, float]
    start_seconds: float = 60.0
    types: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Service:
    """A service: how many requests have come since it was created, and how many were answered."""

    job: InferenceJob
    truth: TrueService
    reached: float
    """Up to when `came` and `answered` count, in seconds since the beginning."""
    came: float = 0.0
    answered: float = 0.0
    replicas: dict[str, float] = field(default_factory=dict[str, float])
    """What each pod answers that may serve now, by its uid."""

    @property
    def name(self) -> str:
        """Its namespace and name."""
        return f"{self.job.metadata.namespace}/{self.job.metadata.name}"

    def advance(self, now: float) -> None:
        """Count what came since this was last asked."""
        able = sum(self.replicas.values())
        for seconds, rate in self.truth.requests.spans(self.reached, now):
            self.came += rate * seconds
            self.answered += min(rate, able) * seconds
        self.reached = now


class Serving:
    """All services."""

    def __init__(self, api: ApiServer, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._services: dict[str, Service] = {}
        self._running: set[str] = set()
        api.listen(self._heard)

    def add(self, job: Raw, truth: TrueService) -> None:
        """Let the pods of a service that was created answer requests. Raises ValueError."""
        model = InferenceJob.model_validate(job)
        roles = model.spec.roles
        if len(roles) != 1 or roles[0].pods_per_replica != 1:
            raise ValueError(f"{model.metadata.name}: give it one role of one pod per replica")
        self._services[model.metadata.uid] = Service(model, truth, self._clock.monotonic())

    def services(self) -> tuple[Service, ...]:
        """All services, counted up to now."""
        for each in self._services.values():
            each.advance(self._clock.monotonic())
        return (*self._services.values(),)

    # What kubelets ask and say.

    def start_seconds(self, pod: Raw) -> float:
        """How long a pod takes to start."""
        service = self._service_of(pod)
        return START_SECONDS if service is None else service.truth.start_seconds

    def stop_seconds(self, _pod: Raw) -> float:
        """How long a pod takes to end."""
        return STOP_SECONDS

    def started(self, pod: Raw) -> None:
        """A replica runs."""
        self._running.add(pod["metadata"]["uid"])
        self._look(pod)

    def stopped(self, pod: Raw) -> None:
        """A replica has ended."""
        self._running.discard(pod["metadata"]["uid"])
        self._look(pod)

    def _heard(self, change: Change) -> None:
        if change.after is not None and change.after["metadata"].get("uid") in self._running:
            self._look(change.after)

    def _look(self, pod: Raw) -> None:
        """Find out whether a pod serves, and from now on count so."""
        service, uid = self._service_of(pod), pod["metadata"]["uid"]
        serves = uid in self._running and holds(pod, READY) and not is_deleted(pod)
        if service is None or serves == (uid in service.replicas):
            return
        service.advance(self._clock.monotonic())
        if serves:
            name = pod["spec"]["nodeName"]
            gpu_type = service.truth.types.get(name) or self._gpu_type(name)
            service.replicas[uid] = service.truth.answers[gpu_type]
        else:
            del service.replicas[uid]

    def _service_of(self, pod: Raw) -> Service | None:
        return self._services.get(pod["metadata"]["labels"][JOB_UID])

    def _gpu_type(self, node: str) -> str:
        return gpu_type_of(self._api.read(Key("nodes", "", node)))
