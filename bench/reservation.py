"""How large gangs fare while small jobs keep coming, and what reserving room costs those.

    PYTHONPATH=tests python bench/reservation.py --days 14 --json

The operator's planning in simulated time, as the tests have it: 8 nodes of 8 GPUs. Small jobs of 1
to 4 GPUs come at random (Poisson) and take 2 hours in the median (log-normal, at most a day); once
a day comes a gang of 4 workers of 8 GPUs each that takes 4 hours. `--load` is what the small jobs
ask for of all GPUs, `--known` the share of them whose length is declared by `work`. The same jobs
come under each `reservation.after`. Hours are those from a job's arrival until it first runs; for a
job that never does, until the end. A job that is moved loses nothing here.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from support.clusters.simulated_cluster import SimulatedCluster
from support.objects.job_manifests import a_policy, a_training_job

NODES, GPUS = 8, 8
STEP = timedelta(minutes=15)
HOUR = timedelta(hours=1)
SIZES = (1, 1, 1, 2, 4)
MEDIAN_HOURS, SIGMA, LONGEST_HOURS = 2.0, 1.0, 24.0
GANG_WORKERS, GANG_HOURS, GANGS_EVERY = 4, 4.0, timedelta(days=1)
FIRST_GANG = timedelta(hours=12)
POLICIES = ("0s", "6h", "1h")
RATE = 100


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that comes after a time, and how long it will take."""

    after: timedelta
    job: Manifest
    takes: timedelta
    gpus: int

    @property
    def name(self) -> str:
        """The name of the job."""
        return str(self.job["metadata"]["name"])


def main() -> None:
    """Simulate the same days under each policy and print the figures."""
    parser = argparse.ArgumentParser(description="What do reservations do for gangs and others?")
    parser.add_argument("--days", type=float, default=14)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--known", type=float, default=0.5)
    parser.add_argument("--effort", type=float, default=0.1, help="deterministic seconds a plan")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    came = list(arrivals(Random(options.seed), options.days, options.load, options.known))
    span, effort = timedelta(days=options.days), Effort(options.effort)
    figures = {after: lived(came, span, after, effort) for after in POLICIES}
    if options.json:
        print_json(figures)
    else:
        for after, each in figures.items():
            print(after, *(f"{key} {value}" for key, value in each.items()))
        require_finite(figures)


def arrivals(rng: Random, days: float, load: float, known: float) -> Iterator[Arrival]:
    """All arrivals, in order."""
    found = [*_small(rng, days, load, known), *_gangs(days)]
    yield from sorted(found, key=lambda each: (each.after, each.name))


def _small(rng: Random, days: float, load: float, known: float) -> Iterator[Arrival]:
    lengths = [_hours(rng) for _ in range(10_000)]
    gpu_hours = statistics.mean(lengths) * statistics.mean(SIZES)
    an_hour = load * NODES * GPUS / gpu_hours
    hours, number = rng.expovariate(an_hour), 0
    while hours < 24 * days:
        length, gpus = _hours(rng), rng.choice(SIZES)
        work: Manifest = {"amount": round(length * 3600 * RATE)}
        fields: Manifest = {"work": work} if rng.random() < known else {}
        job = a_training_job(f"small-{number}", gpus=gpus, rates={H100: RATE}, **fields)
        yield Arrival(timedelta(hours=hours), job, timedelta(hours=length), gpus)
        hours, number = hours + rng.expovariate(an_hour), number + 1


def _hours(rng: Random) -> float:
    return min(LONGEST_HOURS, MEDIAN_HOURS * rng.lognormvariate(0.0, SIGMA))


def _gangs(days: float) -> Iterator[Arrival]:
    after, number = FIRST_GANG, 0
    while after < timedelta(days=days):
        job = a_training_job(f"gang-{number}", workers=GANG_WORKERS, gpus=GPUS)
        yield Arrival(after, job, timedelta(hours=GANG_HOURS), GANG_WORKERS * GPUS)
        after, number = after + GANGS_EVERY, number + 1


def lived(came: list[Arrival], span: timedelta, after: str, effort: Effort) -> dict[str, object]:
    """What becomes of all jobs under one policy."""
    cluster = SimulatedCluster(effort)
    for index in range(NODES):
        cluster.apply(fake_node(f"n-{index}", H100, GPUS))
    cluster.apply(a_policy(reservation={"after": after}))
    begin, waiting = cluster.now, list(came)
    started: dict[str, datetime] = {}
    ends: dict[str, datetime] = {}
    takes = {each.name: each for each in came}
    used = 0.0
    while cluster.now < begin + span:
        for name in [name for name, end in ends.items() if end <= cluster.now]:
            cluster.remove("TrainingJob", name)
            del ends[name]
        while waiting and begin + waiting[0].after <= cluster.now:
            cluster.apply(waiting.pop(0).job)
        cluster.turn()
        for job in cluster.jobs():
            name = job.metadata.name
            if job.status.placement is not None and name not in started:
                started[name], ends[name] = cluster.now, cluster.now + takes[name].takes
        used += sum(takes[name].gpus for name in ends) * (STEP / HOUR)
        cluster.pass_time(STEP)
    say(f"after {after}: {len(started)} of {len(came)} jobs started")
    waits = {
        each.name: (started.get(each.name, cluster.now) - (begin + each.after)) / HOUR
        for each in came
        if begin + each.after < cluster.now
    }
    gangs = [wait for name, wait in waits.items() if name.startswith("gang")]
    small = [wait for name, wait in waits.items() if name.startswith("small")]
    return {
        "gangs": len(gangs),
        "gangs_started": sum(name.startswith("gang") for name in started),
        "gang_wait_p50_h": round(statistics.median(gangs), 1),
        "gang_wait_max_h": round(max(gangs), 1),
        "small_jobs": len(small),
        "small_wait_mean_h": round(statistics.mean(small), 2),
        "small_wait_p95_h": round(statistics.quantiles(small, n=20)[-1], 1),
        "gpus_used_percent": round(100 * used / (NODES * GPUS * (span / HOUR)), 1),
    }


def say(text: str) -> None:
    """Report progress."""
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
