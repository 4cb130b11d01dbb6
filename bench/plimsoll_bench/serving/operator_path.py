"""The replicas that the operator would want of a service with recorded rates.

The functions that decide are its own: forecast, wanted load, wanted replicas. It looks every two
minutes, and sees a recorded window's rate in each look at it; what counts for a window is what is
wanted after the last look at the window `lead` before. Its service's status is what it writes, and
says that the chosen replicas are ready.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from plimsoll.api.inference_job import InferenceJob, PoolReplicas, RoleStatus
from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.observe.measured.demand import BucketDemand, RoleDemand
from plimsoll.planning.serving.autoscaling import scaled_loads
from plimsoll.planning.serving.replicas import wanted_replicas
from plimsoll.signals.load.foresight.accounts import serving_now
from plimsoll.signals.load.foresight.aim import Aim
from plimsoll.signals.load.foresight.load_forecast import LoadForecast, Outlook
from plimsoll.signals.load.foresight.series import STEP_SECONDS, step_of
from plimsoll_bench.serving.policies import Task
from plimsoll_bench.serving.rates import Floats

GPU_TYPE, ROLE, UID = "gpu", "server", "recorded"
MOST_REPLICAS: Final = 1000
BEGINNING: Final = datetime(2026, 1, 5, tzinfo=UTC)
"""When the first window begins: a Monday."""
LOOKED_BACK: Final = timedelta(minutes=2)
UNBOUNDED: Final = 1e9
KEY = (UID, ROLE, ANY_SIZE)


@dataclass(frozen=True, slots=True)
class Choice:
    """The replicas for a window, and the demand by which they were chosen, if there was any."""

    replicas: int
    demand: BucketDemand | None


class OperatorPath:
    """A service as the operator sees it, look by look."""

    def __init__(self, task: Task, quantile: float | None = None) -> None:
        self._task = task
        self._job = _service(task, quantile)
        self._foresight = LoadForecast(LOOKED_BACK, thread=lambda: 0.0)
        self._foresight.allow_learning(UNBOUNDED)
        self._foresight.look("bench", UID, ROLE, [ANY_SIZE])
        self._start = (task.lead - 1) * self._window
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
            demand = self._looked_at(window)
            [role] = self._job.spec.roles
            replicas = chosen[window + task.lead] = wanted_replicas(self._job, role, ())
            yield Choice(replicas, demand)

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

    def _looked_at(self, window: int) -> BucketDemand | None:
        load, demand = float(self._task.rates.loads[window]), None
        for now in self._looks(window) if math.isfinite(load) else ():
            demand = self._look(load, now)
        return demand

    def _look(self, load: float, now: datetime) -> BucketDemand:
        [role] = self._job.spec.roles
        outlook = Outlook.of(self._job, Aim.of(self._job, role, (ANY_SIZE,)), self._start)
        serving = serving_now(self._job, role, ANY_SIZE, {ANY_SIZE: load})
        demand = self._foresight.demand(KEY, load, outlook, now, serving)
        loads = scaled_loads(self._job, role, RoleDemand(ROLE, (demand,)), now)
        self._write(loads=loads)
        return demand

    def _write(self, **fields: object) -> None:
        status = next(iter(self._job.status.roles), RoleStatus(name=ROLE))
        roles = (status.model_copy(update=fields),)
        written = self._job.status.model_copy(update={"roles": roles})
        self._job = self._job.model_copy(update={"status": written})


def plimsoll(task: Task) -> Floats:
    """Ours: the replicas that the operator would want, by window."""
    return np.array([choice.replicas for choice in OperatorPath(task).choices()], np.float64)


def _service(task: Task, quantile: float | None) -> InferenceJob:
    """A service with a replica that carries a load of one."""
    forecast: dict[str, object] = {"horizon": f"{round(task.lead * task.rates.step_seconds)}s"}
    if quantile is not None:
        forecast["quantile"] = str(quantile)
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
                "load": {"forecast": forecast},
                "slo": {"attainmentPercent": str(round(100 - task.percent, 6))},
            },
        }
    )
