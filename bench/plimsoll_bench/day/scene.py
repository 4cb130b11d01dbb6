"""The day as it happens: nodes, services, training jobs, spot nodes that go, nodes that fail.

The cluster is that of Sia's evaluation: T4, A100 and RTX 2080 Ti. The RTX nodes are spot: each is
there while a recorded series says so, and says two minutes before that it will go. Of the others
some fail without notice, at random times, and are back after an hour.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

from plimsoll_bench.day.services import DAY_SECONDS, SERVING, Recorded, manifest
from plimsoll_bench.recorded import Row, rows_in
from plimsoll_bench.spot.series import TICK_SECONDS, changes, series_in
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import give_notice, gpu_node
from plimsoll_simulator.cluster.patches import Raw, merged
from plimsoll_simulator.programs.serving import TrueService
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.recorded import submission
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS, Pool, node_names
from plimsoll_simulator.recorded.recording import Application, Arrival
from plimsoll_simulator.recorded.submission import NAMESPACE, RecordedSpeed
from plimsoll_simulator.story import Event
from plimsoll_simulator.twin import Twin

PRICES = {"aws": 0.978, "dgx-ext": 4.096, "rtx": 0.3}
"""Dollars for an hour of a GPU: a quarter of four T4 and one A100 as the characterization has them.

No cloud sells the RTX 2080 Ti; its price is an assumption.
"""
SPOT_TYPE = "rtx"
NOTICE_SECONDS = 120.0
FAULTS, FAULT_SECONDS = 2, 3600.0
URGENT, URGENT_EVERY = "urgent", 10
"""The PriorityClass of every tenth training job."""
PRIORITIES = {SERVING: 1000, URGENT: 500}
GPUS, BATCH = "recorded/gpus", "recorded/batch"
"""Annotations that say which size and batch a job's owner asked for, where it cannot be elastic."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A training job with the gang that its owner asked for."""

    arrival: Arrival
    gpus: int


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens on the day, but for what places pods."""

    applications: Mapping[str, Application]
    jobs: Sequence[Submitted]
    services: Mapping[Recorded, TrueService]
    spot: Sequence[Sequence[bool]]
    """Whether each spot node is there, by tick."""
    seed: int

    def submissions(self, preset: str) -> Iterator[Event]:
        """What users submit, the policy included."""
        yield from map(applying, setting({"preset": preset}, _pools()))
        for service, truth in self.services.items():
            yield serving(service, truth)
        for place, job in enumerate(self.jobs):
            application = self.applications[job.arrival.application]
            yield submitted(job, application, urgent=place % URGENT_EVERY == 0)

    def meanwhile(self) -> Iterator[Event]:
        """Nodes that come, go and fail."""
        lasting = [pool for pool in SIA_POOLS if pool.gpu_type != SPOT_TYPE]
        nodes = [(name, pool) for pool in lasting for name in node_names(pool)]
        yield from (_node(name, pool) for name, pool in nodes)
        random = Random(self.seed)
        for name, pool in random.sample(nodes, FAULTS):
            at = random.uniform(0.0, DAY_SECONDS)
            yield Event(at, partial(_lose, name=name))
            yield _node(name, pool, at + FAULT_SECONDS)
        [spot] = [pool for pool in SIA_POOLS if pool.gpu_type == SPOT_TYPE]
        for name, there in zip(node_names(spot), self.spot, strict=True):
            yield from _comes_and_goes(name, spot, there)


def setting(objective: Raw, pools: Iterable[Raw]) -> Iterator[Raw]:
    """What is there before any job: namespace, queue, policy, priorities, and the GPUPools."""
    yield {"kind": "Namespace", "metadata": {"name": NAMESPACE}}
    yield {"kind": "JobQueue", "metadata": {"name": "default"}, "spec": {}}
    policy = {"objective": objective}
    yield {"kind": "PlacementPolicy", "metadata": {"name": "default"}, "spec": policy}
    for name, value in PRIORITIES.items():
        yield {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    yield from pools


def _pools() -> Iterator[Raw]:
    for gpu_type, price in PRICES.items():
        spec = {
            "nodeSelector": {"pool": gpu_type},
            "gpuType": gpu_type,
            "capacityType": "Spot" if gpu_type == SPOT_TYPE else "OnDemand",
            "pricePerGPUHour": str(price),
        }
        yield {"kind": "GPUPool", "metadata": {"name": gpu_type}, "spec": spec}


def submitted(
    job: Submitted, application: Application, *, urgent: bool = False, least: int = 1
) -> Event:
    """A training job as its user submits it, elastic, with what its owner asked for as a note."""
    allowed = [count for count in submission.WORKER_COUNTS if count >= least]
    spec: Raw = {
        "spot": {"allowed": True},
        "workers": {"min": least, "allowed": allowed},
        **({"priorityClassName": URGENT} if urgent else {}),
    }
    asked = {GPUS: str(job.gpus), BATCH: str(job.arrival.batch)}
    raw = merged(
        submission.manifest(job.arrival, application, SIA_POOLS),
        {"spec": spec, "metadata": {"annotations": asked}},
    )
    apply = partial(Twin.apply, manifest=raw, speed=RecordedSpeed(application), changes_batch=True)
    return Event(job.arrival.seconds, apply)


def serving(service: Recorded, truth: TrueService) -> Event:
    """A service as its user submits it."""
    return Event(0.0, partial(Twin.serve, manifest=manifest(service, truth), truth=truth))


def _comes_and_goes(name: str, pool: Pool, there: Sequence[bool]) -> Iterator[Event]:
    for at, is_there in changes(there):
        if is_there:
            yield _node(name, pool, at)
        else:
            yield Event(at - NOTICE_SECONDS, partial(_give_notice, name=name))
            yield Event(at, partial(_lose, name=name))


def applying(raw: Raw, seconds: float = 0.0) -> Event:
    """An object that is created at a time."""
    return Event(seconds, partial(Twin.apply, manifest=raw))


def _node(name: str, pool: Pool, seconds: float = 0.0) -> Event:
    return applying(
        gpu_node(name, pool.gpu_type, pool.gpus_per_node, {"pool": pool.gpu_type}), seconds
    )


def _lose(twin: Twin, name: str) -> None:
    twin.api.remove(Key("nodes", "", name))


def _give_notice(twin: Twin, name: str) -> None:
    give_notice(twin.api, name)


def spot_in(paths: Sequence[Path], random: Random) -> list[Sequence[bool]]:
    """A day of each series, from a random tick on; see `spot/series.py`."""
    ticks = round(DAY_SECONDS / TICK_SECONDS)
    return [_day(path, ticks, random) for path in paths]


def _day(path: Path, ticks: int, random: Random) -> Sequence[bool]:
    up = series_in(path)
    if len(up) < ticks:
        raise SystemExit(f"{path}: is shorter than a day")
    start = random.randrange(len(up) - ticks + 1)
    return up[start : start + ticks]


def recorded(run: Run) -> RecordedSpeed:
    """How fast a job of the day really is."""
    if not isinstance(run.speed, RecordedSpeed):
        raise TypeError(f"{run.name} is no recorded job")
    return run.speed


def jobs_in(paths: Sequence[Path], applications: Collection[str]) -> list[Submitted]:
    """The jobs of all workloads, one beginning eight hours after the other.

    Columns are name, time (in seconds), application, num_replicas and batch_size.
    """
    found = [
        _job(row, hours, applications)
        for hours, path in zip(count(0, 8), paths, strict=False)
        for row in rows_in(path, about="name")
    ]
    return sorted(found, key=lambda job: job.arrival.seconds)


def _job(row: Row, hours: int, applications: Collection[str]) -> Submitted:
    if row.text("application") not in applications:
        raise row.wrong("application", "has no profiles")
    seconds = row.number("time") + hours * 3600
    if seconds >= DAY_SECONDS:
        raise row.wrong("time", f"is after the day, {hours} h after its beginning")
    name = f"{row.text('name')}-{hours}h"
    batch = row.whole("batch_size", least=1)
    return Submitted(
        Arrival(name, seconds, row.text("application"), batch), row.whole("num_replicas", least=1)
    )
