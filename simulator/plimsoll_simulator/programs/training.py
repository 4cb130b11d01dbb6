"""Training in the twin's pods: it starts, makes progress at its true speed, saves, stops, is lost.

A gang trains while it is whole. Its workers report and listen as `plimsoll_worker` does: they save
when they have a notice. What ends them otherwise costs what was done since the last checkpoint.
"""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol

from plimsoll.api.training_job import TrainingJob
from plimsoll.clock import Clock
from plimsoll.observe.labels import JOB_UID, REPLICA, REVISION
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll_simulator.cluster.api_server import ApiServer, Change, Key
from plimsoll_simulator.cluster.nodes import gpu_type_of
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import gpus_of, key_of

START_SECONDS = 5.0
"""How long a pod takes from being bound until its containers run."""
STOP_SECONDS = 2.0
"""How long a pod takes to end once it is told to."""
REPORT_SECONDS = 60.0
"""How often workers report without news."""
KNOWN_AFTER_SECONDS = 10.0
"""How long a gang trains until it knows how fast it is, and says so."""
HEARS_AFTER_SECONDS = 15.0
"""How long it takes until workers that change their batch hear of another one."""


@dataclass(frozen=True, slots=True)
class LocalBatch:
    """What each rank of a gang computes in a step: so many samples at once, so many times."""

    samples: int
    passes: int

    def size(self, ranks: int) -> int:
        """The samples of a step."""
        return self.samples * self.passes * ranks


@dataclass(frozen=True, slots=True)
class Gang:
    """What decides how fast a gang is.

    Its GPU type, how many of its GPUs each node has, and the batch that its workers were given.
    """

    gpu_type: str
    gpus_by_node: Mapping[str, int]
    batch: LocalBatch | None = None

    @property
    def gpus(self) -> int:
        """All its GPUs."""
        return sum(self.gpus_by_node.values())


@dataclass(frozen=True, slots=True)
class Pace:
    """Units of work per second, more than none, until so much is done.

    Where samples are not all worth the same, workers report how many they compute in a second, and
    the gradient noise scale in samples, from which follows what these are worth.
    """

    rate: float
    until: float = math.inf
    samples_per_second: float | None = None
    gradient_noise: float | None = None


class TrueSpeed(Protocol):
    """How fast a job really is."""

    def __call__(self, gang: Gang, done: float, /) -> Pace:
        """The pace of a gang that has done so much."""
        ...


@dataclass(slots=True)
class Account:
    """When a job came, began and ended, in the event loop's time, and what became of its GPU-time.

    `useful_gpu_seconds` counts what was not lost, `starting_gpu_seconds` the loading of
    checkpoints.
    """

    submitted: float
    started: float | None = None
    completed: float | None = None
    starts: int = 0
    starting_gpu_seconds: float = 0.0
    useful_gpu_seconds: float = 0.0
    lost_gpu_seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """A job: all its gangs, one after the other. Times are those of the event loop."""

    job: TrainingJob
    speed: TrueSpeed
    amount: float
    """All the work there is."""
    account: Account
    changes_batch: bool = False
    """Whether its workers change their batch as they train."""
    done: float = 0.0
    saved: float = 0.0
    saved_at: float | None = None
    revision: int = -1
    workers: dict[str, Raw] = field(default_factory=dict[str, Raw])
    """The pods of the present gang that run, by their uid."""
    gang: Gang | None = None
    """The present gang, while it is whole."""
    pace: Pace = Pace(0.0)
    begins: float = 0.0
    """When the present gang has loaded its checkpoint."""
    reached: float = 0.0
    """Up to when `done` counts."""
    unsaved_seconds: float = 0.0
    """How long the present gang has worked since its last checkpoint."""
    acknowledged: str = ""
    """The notice for which the present gang has saved; it works no more then."""
    next: asyncio.TimerHandle | None = None
    """When the pace changes, or the work is done."""
    reports: tuple[WorkerReport, ...] = ()
    reported: float = 0.0

    @property
    def name(self) -> str:
        """Its namespace and name."""
        return f"{self.job.metadata.namespace}/{self.job.metadata.name}"


class Training:
    """All training jobs. `finish` ends the pods of one that is done; `woken` is told of news."""

    def __init__(self, api: ApiServer, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._runs: dict[str, Run] = {}
        self.finish: Callable[[Key], None] = lambda _: None
        self.woken: Callable[[], None] = lambda: None
        api.listen(self._heard)

    def add(self, job: Raw, speed: TrueSpeed, *, changes_batch: bool = False) -> None:
        """Let the pods of a job that was created train at a speed."""
        model = TrainingJob.model_validate(job)
        if model.spec.work is None:
            raise ValueError(f"{model.metadata.name} has no end: set work")
        amount, account = float(model.spec.work.amount), Account(self._clock.monotonic())
        self._runs[model.metadata.uid] = Run(model, speed, amount, account, changes_batch)

    @property
    def runs(self) -> Mapping[str, Run]:
        """All jobs by uid, with the progress that they were last asked for."""
        return self._runs

    def advance(self) -> None:
        """Count all progress up to now."""
        for run in self._runs.values():
            self._advance(run)

    # What kubelets ask and say.

    def start_seconds(self, _pod: Raw) -> float:
        """How long a pod takes to start."""
        return START_SECONDS

    def stop_seconds(self, _pod: Raw) -> float:
        """How long a pod takes to end."""
        return STOP_SECONDS

    def started(self, pod: Raw) -> None:
        """A worker runs; the last of a gang lets it begin."""
        run, revision = self._run_of(pod)
        if run is None or revision < run.revision:
            return
        if revision > run.revision:
            run.revision, run.workers, run.acknowledged = revision, {}, ""
        run.workers[pod["metadata"]["uid"]] = pod
        if len(run.workers) == int(_environment(pod)["WORLD_SIZE"]):
            self._begin(run)

    def stopped(self, pod: Raw) -> None:
        """A worker has ended; the others of its gang cannot go on."""
        run, revision = self._run_of(pod)
        if run is None or revision != run.revision:
            return
        self._halt(run)
        run.workers.pop(pod["metadata"]["uid"], None)

    def _run_of(self, pod: Raw) -> tuple[Run | None, int]:
        labels = pod["metadata"].get("labels", {})
        return self._runs.get(labels.get(JOB_UID)), int(labels.get(REVISION, 0))

    def _begin(self, run: Run) -> None:
        now = self._clock.monotonic()
        by_node: dict[str, int] = {}
        for pod in run.workers.values():
            name = pod["spec"]["nodeName"]
            by_node[name] = by_node.get(name, 0) + gpus_of(pod)
        node = self._api.read(Key("nodes", "", next(iter(by_node))))
        batch = _batch_of(next(iter(run.workers.values())))
        run.gang = Gang(gpu_type_of(node), by_node, batch)
        run.account.starts += 1
        run.account.started = now if run.account.started is None else run.account.started
        run.begins = now + run.job.spec.checkpoint.restore_seconds
        run.reached, run.unsaved_seconds = now, 0.0
        self._pace(run, run.gang)
        known_in = run.begins - now + KNOWN_AFTER_SECONDS
        asyncio.get_running_loop().call_later(known_in, self._know, run, run.revision)

    def _know(self, run: Run, revision: int) -> None:
        """The gang knows how fast it is, and does not wait until it reports again."""
        if run.revision == revision:
            run.reports = ()

    def _pace(self, run: Run, gang: Gang) -> None:
        """Find out how fast the gang is, and when that will change or the work be done."""
        pace = run.speed(gang, run.done)
        if pace.rate <= 0:
            raise ValueError(f"{run.job.metadata.name} has no speed on {gang}: give it one")
        if pace.until <= run.done:
            raise ValueError(f"the pace of {run.job.metadata.name} held until {pace.until} only")
        run.pace = pace
        until = min(pace.until, run.amount)
        seconds = max(run.begins - run.reached, 0.0) + (until - run.done) / pace.rate
        run.next = asyncio.get_running_loop().call_later(seconds, self._reach, run, until)

    def _reach(self, run: Run, done: float) -> None:
        """So much is done now: go on at another pace, or end."""
        self._advance(run)
        run.done = done
        if run.done >= run.amount:
            self._complete(run)
        elif run.gang is not None:
            self._pace(run, run.gang)

    def _advance(self, run: Run) -> None:
        """Count what was done since this was last asked."""
        now, gang = self._clock.monotonic(), run.gang
        if gang is None or run.acknowledged:
            return
        starting = max(0.0, min(now, run.begins) - run.reached)
        worked = max(0.0, now - max(run.reached, run.begins))
        run.reached = now
        run.account.starting_gpu_seconds += starting * gang.gpus
        run.account.useful_gpu_seconds += worked * gang.gpus
        run.done = min(run.amount, run.done + run.pace.rate * worked)
        run.unsaved_seconds += worked
        interval = run.job.spec.checkpoint.interval.total_seconds()
        if run.unsaved_seconds >= interval:
            run.unsaved_seconds %= interval
            run.saved = run.done - run.pace.rate * run.unsaved_seconds
            run.saved_at = now - run.unsaved_seconds

    def _halt(self, run: Run) -> None:
        """The gang is no longer whole: what was not saved is lost."""
        self._advance(run)
        _stop(run)
        if run.gang is not None and run.account.completed is None:
            lost = run.unsaved_seconds * run.gang.gpus
            run.account.useful_gpu_seconds -= lost
            run.account.lost_gpu_seconds += lost
            run.done = run.saved
        run.gang, run.reports = None, ()

    def _complete(self, run: Run) -> None:
        run.account.completed = self._clock.monotonic()
        for pod in [*run.workers.values()]:
            self.finish(key_of("pods", pod))

    # What workers hear and say.

    def _heard(self, change: Change) -> None:
        if change.key.plural != "trainingjobs" or change.after is None:
            return
        run = self._runs.get(change.after["metadata"]["uid"])
        if run is not None and run.changes_batch:
            self._hear_of_batch(run, change.after)
        notice, known = _notice_in(change.after), _notice_in(change.before or {})
        if run is None or not notice or notice["revision"] != run.revision:
            return
        if known.get("id") != notice["id"]:
            seconds = float(run.job.spec.checkpoint.save_seconds)
            asyncio.get_running_loop().call_later(seconds, self._save, run, notice["id"])

    def _hear_of_batch(self, run: Run, job: Raw) -> None:
        """Change to the batch that the gang is to have, once its workers have heard of it."""
        placement: Raw = job.get("status", {}).get("placement") or {}
        batch = placement.get("batch")
        if run.gang is None or batch is None or placement["revision"] != run.revision:
            return
        wanted = LocalBatch(batch["local"], batch["accumulation"])
        if wanted != run.gang.batch:
            later = asyncio.get_running_loop().call_later
            later(HEARS_AFTER_SECONDS, self._change_batch, run, run.revision, wanted)

    def _change_batch(self, run: Run, revision: int, batch: LocalBatch) -> None:
        gang = run.gang
        if gang is None or run.acknowledged or revision != run.revision or batch == gang.batch:
            return
        self._advance(run)
        _stop(run)
        run.gang, run.reports = replace(gang, batch=batch), ()
        self._pace(run, run.gang)

    def _save(self, run: Run, notice: str) -> None:
        """Save, stop, and say so."""
        self._advance(run)
        if run.gang is None:
            return
        _stop(run)
        run.saved, run.saved_at, run.unsaved_seconds = run.done, self._clock.monotonic(), 0.0
        run.acknowledged, run.reports = notice, ()
        self.woken()

    def reports(self) -> Iterator[WorkerReport]:
        """What the workers have last said."""
        now = self._clock.monotonic()
        for run in self._runs.values():
            if run.gang is not None:
                if not run.reports or now >= run.reported + REPORT_SECONDS:
                    self._advance(run)
                    run.reported, run.reports = now, tuple(self._said(run))
                yield from run.reports

    def _said(self, run: Run) -> Iterator[WorkerReport]:
        now, is_known = self._clock.now(), run.reached >= run.begins + KNOWN_AFTER_SECONDS
        rate = run.pace.samples_per_second or run.pace.rate
        rate_known = Decimal(repr(rate)) if is_known and not run.acknowledged else None
        batch = run.gang.batch.size(run.gang.gpus) if run.gang and run.gang.batch else None
        for uid, pod in run.workers.items():
            meta = pod["metadata"]
            yield WorkerReport(
                pod=meta["name"],
                pod_uid=uid,
                job_uid=meta["labels"][JOB_UID],
                replica=int(meta["labels"][REPLICA]),
                revision=run.revision,
                at=now,
                done=Decimal(repr(run.done)),
                rate=rate_known,
                gradient_noise=run.pace.gradient_noise,
                batch=batch if run.changes_batch else None,
                saved=Decimal(repr(run.saved)) if run.saved_at is not None else None,
                saved_at=self._at(run.saved_at),
                acknowledged=run.acknowledged,
            )

    def _at(self, moment: float | None) -> datetime | None:
        if moment is None:
            return None
        return self._clock.now() - timedelta(seconds=self._clock.monotonic() - moment)


def _notice_in(job: Raw) -> Raw:
    found: Raw | None = job.get("status", {}).get("notice")
    return found or {}


def _stop(run: Run) -> None:
    if run.next is not None:
        run.next.cancel()
        run.next = None


def _environment(pod: Raw) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}


def _batch_of(pod: Raw) -> LocalBatch | None:
    env = _environment(pod)
    if "PLIMSOLL_LOCAL_BATCH" not in env:
        return None
    return LocalBatch(int(env["PLIMSOLL_LOCAL_BATCH"]), int(env["PLIMSOLL_ACCUMULATION"]))
