"""A row of simulated servers: what each would draw second by second without caps.

Services hold servers permanently and see recorded traffic, each shifted by a random time of day
within a limit. Within ten seconds the requests of a service vary by the recorded burstiness, and
those of one of its servers randomly (Poisson). Training jobs hold servers together; their power is
drawn at random and almost steady, falls nearly to idle while they save, and comes back with the
next job after a pause: on all servers of a job at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plimsoll_bench.power.profiles import Curve, Floats, Traffic

HOUR = 3600
GPUS = 8
BURST_SECONDS = 10
JITTER = 0.03
"""Of the draw of a server, or of a training job, from second to second."""
SERVICE_SERVERS = (3, 8)
JOB_SERVERS = (1, 2, 4, 8)
TRAINING_WATTS = (560, 680)
TRAINING_HOURS = 6
SAVE_EVERY, SAVE_SECONDS, SAVE_WATTS = 1800, 45, 200
PAUSE_SECONDS = (60, 600)


@dataclass(frozen=True, slots=True)
class Make:
    """What a row is made of, for `row`."""

    servers: int
    high_share: float
    """The share of servers with services of high priority."""
    training_share: float
    """The share with training, of low priority; the others have services of low priority."""
    peak_load: float
    """The load of a service at the 99.9 % quantile of its requests."""
    shift_hours: float
    idle_watts: int
    limit_watts: int
    hours: int


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """Servers of one model; `seconds` is by how much its day is shifted."""

    first: int
    count: int
    curve: Curve
    traffic: Traffic
    shift_seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Servers that train together, one job after the other; watts of a GPU from each time on."""

    first: int
    count: int
    times: Floats
    watts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Servers in this order: services of high priority, those of low priority, training."""

    make: Make
    services: tuple[Service, ...]
    jobs: tuple[Job, ...]
    is_high: npt.NDArray[np.bool_]
    is_training: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Hour:
    """By second and server: watts of one GPU without caps, and the load, 0 to 1."""

    watts: Floats
    loads: Floats


def row(make: Make, curves: list[Curve], traffic: list[Traffic], rng: np.random.Generator) -> Row:
    """A random row."""
    high = round(make.servers * make.high_share)
    training = round(make.servers * make.training_share)
    low = make.servers - high - training
    groups = [*_groups(0, high, rng), *_groups(high, low, rng)]
    services = [
        Service(
            first,
            count,
            curves[rng.integers(len(curves))],
            traffic[rng.integers(len(traffic))],
            rng.uniform(0, make.shift_hours) * HOUR,
        )
        for first, count in groups
    ]
    places = np.arange(make.servers)
    return Row(
        make,
        tuple(services),
        tuple(_jobs(high + low, training, make, rng)),
        places < high,
        places >= high + low,
    )


def _groups(first: int, count: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    end = first + count
    while first < end:
        size = min(int(rng.integers(*SERVICE_SERVERS, endpoint=True)), end - first)
        yield first, size
        first += size


def _jobs(first: int, count: int, make: Make, rng: np.random.Generator) -> Iterator[Job]:
    end = first + count
    while first < end:
        size = min(int(rng.choice(JOB_SERVERS)), end - first)
        times, watts = np.array([*_phases(make, rng)]).T
        yield Job(first, size, times, watts)
        first += size


def _phases(make: Make, rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """From when on a GPU draws how much."""
    now = -rng.uniform(0, TRAINING_HOURS * HOUR)
    while now < make.hours * HOUR:
        watts = rng.uniform(*TRAINING_WATTS)
        ends = now + TRAINING_HOURS * HOUR * rng.lognormal(0, 0.8)
        while now < ends:
            yield now, watts
            yield now + SAVE_EVERY, SAVE_WATTS
            now += SAVE_EVERY + SAVE_SECONDS
        yield now, make.idle_watts
        now += rng.uniform(*PAUSE_SECONDS)


def hours(row: Row, rng: np.random.Generator) -> Iterator[Hour]:
    """One hour after the other."""
    for hour in range(row.make.hours):
        seconds = np.arange(hour * HOUR, (hour + 1) * HOUR, dtype=np.float64)
        watts = np.zeros((HOUR, row.make.servers))
        loads = np.zeros_like(watts)
        for service in row.services:
            mine = slice(service.first, service.first + service.count)
            loads[:, mine] = _loads(service, row.make, seconds, rng)
            curve = service.curve
            watts[:, mine] = np.interp(loads[:, mine], curve.loads, curve.watts)
            watts[:, mine] *= 1 + JITTER * rng.standard_normal((HOUR, service.count))
        for job in row.jobs:
            mine = slice(job.first, job.first + job.count)
            level = job.watts[np.searchsorted(job.times, seconds, side="right") - 1]
            loads[:, mine] = (level > SAVE_WATTS)[:, None]
            watts[:, mine] = (level * (1 + JITTER * rng.standard_normal(HOUR)))[:, None]
        yield Hour(np.clip(watts, row.make.idle_watts, row.make.limit_watts), loads)


def _loads(service: Service, make: Make, seconds: Floats, rng: np.random.Generator) -> Floats:
    traffic, curve = service.traffic, service.curve
    knots: Floats = np.arange(HOUR // BURST_SECONDS + 1) * BURST_SECONDS + seconds[0]
    span = traffic.starts[-1] - traffic.starts[0]
    at: Floats = traffic.starts[0] + (knots + service.shift_seconds) % span
    mean: Floats = make.peak_load * np.interp(at, traffic.starts, traffic.shares)
    burstiness: Floats = np.interp(at, traffic.starts, traffic.burstiness)
    full = GPUS / curve.gpus * curve.tokens_per_second / traffic.output_tokens * BURST_SECONDS
    requests = np.maximum(mean * full, 1)
    together = np.sqrt(burstiness / (requests * service.count)) * rng.standard_normal(len(knots))
    each = rng.standard_normal((len(knots), service.count)) / np.sqrt(requests)[:, None]
    noisy: Floats = mean[:, None] * (1 + together[:, None] + each)
    limited: Floats = np.clip(noisy, 0, 1)
    each_server = (limited[:, place] for place in range(service.count))
    return np.stack([np.interp(seconds, knots, one) for one in each_server], axis=1)
