"""A service as the operator sees it from look to look, by its own functions from load to replicas.

What it wants becomes ready some time later, and what it no longer wants goes at once.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from plimsoll.api.inference_job import BucketLoad, InferenceJob, PoolReplicas, RoleStatus
from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.observe.measured.demand import BucketDemand, RoleDemand
from plimsoll.planning.serving.autoscaling import scaled_loads
from plimsoll.planning.serving.replicas import role_status, wanted_replicas
from plimsoll.signals.load.foresight.accounts import serving_now
from plimsoll.signals.load.foresight.aim import Aim
from plimsoll.signals.load.foresight.load_forecast import LoadForecast, Outlook
from plimsoll.signals.load.starts import Start
from support.objects.load_results import WINDOW

LOOK = timedelta(minutes=1)
UNBOUNDED = 1e9
ROLE = "server"


@dataclass
class Served:
    """A service that is looked at each minute."""

    job: InferenceJob
    gpu_type: str
    start: timedelta = timedelta(minutes=5)
    now: datetime = field(default_factory=datetime.now)
    foresight: LoadForecast = field(default_factory=lambda: LoadForecast(WINDOW))
    last: BucketDemand | None = None
    _wanted: deque[int] = field(default_factory=deque[int])

    @property
    def key(self) -> tuple[str, str, str]:
        return self.job.metadata.uid, ROLE, ANY_SIZE

    @property
    def ready(self) -> int:
        """As many as were wanted all the time that a start takes."""
        return min(self._wanted, default=0)

    @property
    def wanted(self) -> int:
        return self._wanted[-1]

    @property
    def written(self) -> BucketLoad:
        """What is written in the status."""
        status = role_status(self.job, self.job.spec.roles[0])
        assert status is not None
        return status.loads[0]

    def restart(self) -> None:
        """The operator starts anew: all that it knows is the status."""
        self.foresight = LoadForecast(WINDOW)

    def look(self, load: float | None) -> int:
        """The replicas that are wanted after one more look; None: the load is not known."""
        self.now += LOOK
        [role] = self.job.spec.roles
        if load is not None:
            self.foresight.allow_learning(UNBOUNDED)
            outlook = Outlook.of(
                self.job, Aim.of(self.job, role, (ANY_SIZE,)), Start(self.start, self.start)
            )
            serving = serving_now(self.job, role, {ANY_SIZE: load})[ANY_SIZE]
            self.last = self.foresight.demand(self.key, load, outlook, self.now, serving)
            demand = RoleDemand(ROLE, (self.last,))
            self._write(loads=scaled_loads(self.job, role, demand, self.now))
        self._wanted.append(wanted_replicas(self.job, role, ()))
        while len(self._wanted) > self.start // LOOK + 1:
            self._wanted.popleft()
        pool = PoolReplicas(pool="pool", accelerator_type=self.gpu_type, ready=self.ready)
        self._write(pools=(pool,), ready=self.ready)
        return self.wanted

    def live(self, load: Callable[[datetime], float | None], time: timedelta) -> list[int]:
        """The replicas that are wanted at each look of some time."""
        return [self.look(load(self.now + LOOK)) for _ in range(time // LOOK)]

    def _write(self, **fields: object) -> None:
        status = role_status(self.job, self.job.spec.roles[0]) or RoleStatus(name=ROLE)
        roles = (status.model_copy(update=fields),)
        written = self.job.status.model_copy(update={"roles": roles})
        self.job = self.job.model_copy(update={"status": written})
