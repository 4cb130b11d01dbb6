"""The sides that are compared: what each is given for a gang, and how it says why one waits."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from control_plane import JOBS, PODS, cpu_seconds, family
from plimsoll_bench.beside.gangs import Gang
from plimsoll_bench.beside.ours import training_job
from plimsoll_bench.beside.theirs import (
    BATCH_JOBS,
    BY_QUOTA,
    PACKED,
    WORKLOADS,
    apply_queues,
    batch_job,
    refusal,
)
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.kueue.process import Kueue
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.waiting import wait_until

PLIMSOLL, KNOWN = "plimsoll", "plimsoll_known"
KUEUE, KUEUE_PACKED = "kueue", "kueue_packed"
GONE_SECONDS = 300
DELETERS = 8


@dataclass(frozen=True, slots=True)
class Side:
    """`collection` is where its jobs are, `others` where there is more while there are any."""

    name: str
    api: ApiServer
    pid: int
    collection: str
    manifest: Callable[[Gang], Manifest]
    told: Callable[[str], str]
    """Why a job waits, by its name; empty while that is not said."""
    others: Sequence[str] = field(default=(PODS,))

    def submit(self, gang: Gang) -> None:
        """Ask for a gang."""
        self.api.create(self.collection, self.manifest(gang))

    def clear(self) -> None:
        """Remove all jobs, and wait until nothing of them is left."""
        names = [item["metadata"]["name"] for item in self.api.items(self.collection)]
        paths = [f"{self.collection}/{name}?propagationPolicy=Background" for name in names]
        with ThreadPoolExecutor(DELETERS) as pool:
            for _ in pool.map(self.api.delete, paths):
                pass
        wait_until(self._is_clear, timeout_seconds=GONE_SECONDS, what="all jobs are gone")

    def _is_clear(self) -> bool:
        return not any(self.api.items(f"{path}?limit=1") for path in self._collections())

    def _collections(self) -> Iterator[str]:
        yield self.collection
        yield from self.others


class CpuTime:
    """Processor time from when it was made, of the control plane's programs and a side's."""

    def __init__(self, plane: ControlPlane, side: Side) -> None:
        self._pids = {**plane.pids(), side.name: side.pid}
        self._before = self._so_far()

    def seconds(self) -> dict[str, float]:
        """By program."""
        so_far = self._so_far()
        return {name: round(so_far[name] - before, 1) for name, before in self._before.items()}

    def _so_far(self) -> dict[str, float]:
        return {name: sum(map(cpu_seconds, family(pid))) for name, pid in self._pids.items()}


@contextmanager
def open_side(
    name: str, plane: ControlPlane, nodes: int, *, kueue: Path | None, log: Path | None
) -> Generator[Side]:
    """Start what runs a side, and end it afterwards; its log is kept if one is named."""
    if name in _QUEUES:
        if kueue is None:
            raise SystemExit(f"{name}: needs --kueue")
        with Kueue(kueue, plane.kubeconfig) as process, _kept(process, log, name):
            apply_queues(plane.api, nodes)
            yield _kueue(name, plane.api, process.pid)
    else:
        with OperatorProcess(plane.kubeconfig) as process, _kept(process, log, name):
            yield _plimsoll(name, plane.api, process.pid)


_QUEUES: Mapping[str, str] = {KUEUE: BY_QUOTA, KUEUE_PACKED: PACKED}


def _plimsoll(name: str, api: ApiServer, pid: int) -> Side:
    def told(job: str) -> str:
        return api.get(f"{JOBS}/{job}").get("status", {}).get("message", "")

    return Side(name, api, pid, JOBS, partial(training_job, known=name == KNOWN), told)


def _kueue(name: str, api: ApiServer, pid: int) -> Side:
    manifest = partial(batch_job, queue=_QUEUES[name])
    return Side(
        name, api, pid, BATCH_JOBS, manifest, partial(refusal, api), others=(PODS, WORKLOADS)
    )


@contextmanager
def _kept(process: Kueue | OperatorProcess, log: Path | None, name: str) -> Generator[None]:
    """Keep a process's log beside the one that is named."""
    try:
        yield
    finally:
        if log:
            log.with_suffix(f".{name}{log.suffix}").write_text(process.log.read_text())
