"""The replicas that the operator would want of a service with recorded rates.

The functions that decide are its own: forecast, wanted load, wanted replicas. It looks every two
minutes, and sees a recorded window's rate in each look at it; what counts for a window is what is
wanted after the last look at the window `lead` before. Its service's status is what it writes, and
says that the chosen replicas are ready.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob, PoolReplicas, RoleStatus
from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.observe.measured.demand import RoleDemand
from plimsoll.planning.serving.autoscaling import scaled_loads, stepped
from plimsoll.planning.serving.replicas import wanted_replicas
from plimsoll.signals.load.foresight.accounts import serving_now
from plimsoll.signals.load.foresight.aim import Aim
from plimsoll.signals.load.foresight.forecasts import Foreseen
from plimsoll.signals.load.foresight.load_forecast import LoadForecast, Outlook
from plimsoll.signals.load.foresight.series import STEP_SECONDS, step_of
from plimsoll.signals.load.starts import Start
from plimsoll_bench.serving.policies import Task

GPU_TYPE, ROLE, UID = "gpu", "server", "recorded"
MOST_REPLICAS: Final = 1000
BEGINNING: Final = datetime(2026, 1, 5, tzinfo=UTC)
"""When the first window begins: a Monday."""
LOOKED_BACK: Final = timedelta(minutes=2)
UNBOUNDED: Final = 1e9
KEY = (UID, ROLE, ANY_SIZE)
ONE_EACH: Final = Aim(quantile=None, allowed=1.0, unit=1.0)
"""A replica carries a load of one, and only the price matters."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The replicas for a window, and the load and the forecast by which they were chosen."""

    replicas: int
    load: float
    foreseen: Foreseen | None

    def at(self, price: float) -> float:
        """The replicas for this window if the price of capacity were this."""
        if self.foreseen is None:
            return float(self.replicas)
        worth = replace(self.foreseen, price=price).worth(ONE_EACH)
        at_least = self.load if math.isfinite(self.load) else 0.0
        return math.ceil(float(stepped(max(worth, at_least), ONE_EACH.unit)))


class OperatorPath:
    """A service as the operator sees it, look by look."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._job = _service(task)
        self._foresight = LoadForecast(LOOKED_BACK, thread=lambda: 0.0)
        self._foresight.allow_learning(UNBOUNDED)
        self._foresight.look("bench", UID, ROLE, [ANY_SIZE])
        start = (task.lead - 1) * self._window
        self._start = Start(anywhere=start, on_new_node=start)
        self._foresight.fill(KEY, self._past())

    @property
    def _window(self) -> timedelta:
        return timedelta(seconds=self._task.rates.step_seconds)

    def choices(self) -> Iterator[Choice]:
        """What is chosen for each scored window."""
        task = self._task
        chosen: dict[int, int] = {}
        for window in range(task.first - task.lead, len(task.rates.loads) - task.lead):
            self._be_ready(chosen.get(window))
            load = float(task.rates.loads[window])
            for now in self._looks(window) if math.isfinite(load) else ():
                self._look(load, now)
            [role] = self._job.spec.roles
            replicas = chosen[window + task.lead] = wanted_replicas(self._job, role, ())
            yield Choice(replicas, load, self._foresight.foreseen(KEY, self._outlook()))

    def _past(self) -> dict[int, float]:
        """What Prometheus would return of the time before the first look."""
        task, found = self._task, dict[int, float]()
        for window in range(task.first - task.lead):
            load = float(task.rates.loads[window])
            if math.isfinite(load):
                found |= dict.fromkeys(map(step_of, self._looks(window)), load)
        return found

    def _looks(self, window: int) -> list[datetime]:
        """When a window is looked at, the last time as it ends."""
        begins, step = BEGINNING + window * self._window, timedelta(seconds=STEP_SECONDS)
        return [begins + (look + 1) * step for look in range(self._window // step)]

    def _be_ready(self, replicas: int | None) -> None:
        """These replicas are ready; None: none were chosen yet."""
        if replicas is not None:
            pool = PoolReplicas(pool="bench", accelerator_type=GPU_TYPE, ready=replicas)
            self._write(pools=(pool,), ready=replicas)

    def _outlook(self) -> Outlook:
        [role] = self._job.spec.roles
        return Outlook.of(self._job, Aim.of(self._job, role, (ANY_SIZE,)), self._start)

    def _look(self, load: float, now: datetime) -> None:
        [role] = self._job.spec.roles
        serving = serving_now(self._job, role, {ANY_SIZE: load})[ANY_SIZE]
        demand = self._foresight.demand(KEY, load, self._outlook(), now, serving)
        self._write(loads=scaled_loads(self._job, role, RoleDemand(ROLE, (demand,)), now))

    def _write(self, **fields: object) -> None:
        status = next(iter(self._job.status.roles), RoleStatus(name=ROLE))
        roles = (status.model_copy(update=fields),)
        written = self._job.status.model_copy(update={"roles": roles})
        self._job = self._job.model_copy(update={"status": written})


def _service(task: Task) -> InferenceJob:
    """A service with a replica that carries a load of one."""
    horizon = f"{round(task.lead * task.rates.step_seconds)}s"
    role = {
        "name": ROLE,
        "replicas": {"min": 0, "max": MOST_REPLICAS},
        "gpusPerReplica": 1,
        "profiles": [{"type": GPU_TYPE, "load": 1}],
        "template": {"spec": {"containers": [{"name": "server", "image": "server"}]}},
    }
    return InferenceJob.model_validate(
        {
            "metadata": {"name": "recorded", "namespace": "bench", "uid": UID, "generation": 1},
            "spec": {
                "roles": [role],
                "load": {"forecast": {"horizon": horizon}},
                "slo": {"attainmentPercent": f"{100 - task.percent:.6f}"},
            },
        }
    )
