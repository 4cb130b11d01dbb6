"""What became of a day: work done, work thrown away, waiting, requests answered, dollars.

Work is counted in hours of one A100, whatever GPUs did it: training by how long a single A100 would
have taken to get as far, requests by how long a replica on one takes to answer as many.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll_bench.day.scene import PRICES, recorded
from plimsoll_bench.day.work import seconds_of
from plimsoll_simulator.programs.serving import Service
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.report.figures import figures
from plimsoll_simulator.story import Lived

REFERENCE = "dgx-ext"
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Useful hours are of a single A100.

    Thrown away is the time of GPUs whose progress was lost, of that whose progress was kept.
    Waiting is from a training job's submission to its first step, or to the end of the day. The
    attainment is that of the service that does worst. Dollars are for the GPUs that pods held.
    """

    useful_gpu_hours: float
    useful_training_gpu_hours: float
    useful_serving_gpu_hours: float
    thrown_away_percent: float
    waiting_p50_h: float
    waiting_p95_h: float
    slo_attainment_percent: float
    dollars: float
    held_gpu_hours: float
    jobs_done: int
    restarts_per_job: float


def of_day(lived: Lived) -> Figures:
    """The figures of a day."""
    found, types = figures(lived), {node.name: node.gpu_type for node in lived.nodes}
    training = sum(map(training_hours, lived.runs))
    serving = sum(map(serving_hours, lived.services))
    return Figures(
        useful_gpu_hours=training + serving,
        useful_training_gpu_hours=training,
        useful_serving_gpu_hours=serving,
        thrown_away_percent=_percent(found.lost_gpu_hours, found.useful_gpu_hours),
        waiting_p50_h=found.waiting_p50_hours,
        waiting_p95_h=found.waiting_p95_hours,
        slo_attainment_percent=min(map(attainment_percent, lived.services)),
        dollars=_dollars(lived, types),
        held_gpu_hours=sum(stay.gpu_seconds for stay in lived.stays) / HOUR,
        jobs_done=found.done,
        restarts_per_job=found.restarts_per_job,
    )


def training_hours(run: Run) -> float:
    """How long a single A100 with the smallest batch takes to get as far as a job did."""
    speed = recorded(run)
    return seconds_of(speed, speed.alone(REFERENCE), run.done) / HOUR


def attainment_percent(service: Service) -> float:
    """The share of requests that were answered in time."""
    return _percent(service.answered, service.came)


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else math.nan


def serving_hours(service: Service) -> float:
    """How long a replica on a single A100 takes to answer as much as was answered."""
    return service.answered / service.truth.answers[REFERENCE] / HOUR


def _dollars(lived: Lived, types: Mapping[str, str]) -> float:
    return sum(stay.gpu_seconds / HOUR * PRICES[types[stay.node]] for stay in lived.stays)
