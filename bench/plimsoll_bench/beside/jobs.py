"""Thousands of jobs of one GPU, applied at once: how fast they are bound, and at what cost."""

import statistics
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from control_plane import APPLIERS, Bindings, Memory, ReasonTimer, say
from plimsoll_bench.beside.course import GANG
from plimsoll_bench.beside.gangs import NODE_GPUS, Gang
from plimsoll_bench.beside.sides import CpuTime, Side
from plimsoll_bench.beside.writes import BENCH, WriteCounter
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane

TOO_LARGE = "too-large"
TOO_MANY_NODES = 1.2
LEAST_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class JobFigures:
    """`writes`: of each writer but the bench, for each job, by resource, until all is quiet.

    `cpu_s`: of each program in that time; `jobs_per_cpu_second` tells of the two sides also where
    others keep the machine busy. `infeasible_told_s`: until it was said why one job among
    them, which asks for more than there is, waits.
    """

    jobs_per_second: float
    apply_to_bound_p50_s: float
    apply_to_bound_p99_s: float
    writes_per_job: float
    writes: Mapping[str, Mapping[str, float]]
    rss_mib: float
    cpu_s: Mapping[str, float]
    jobs_per_cpu_second: float
    infeasible_told_s: float
    infeasible_message: str


def jobs_run(
    plane: ControlPlane, side: Side, *, nodes: int, jobs: int, timeout_seconds: float
) -> JobFigures:
    """Apply all jobs, with the one that cannot fit among them, and wait until all are bound."""
    writes, memory = WriteCounter(plane.audit_log), Memory(side.pid)
    used = CpuTime(plane, side)
    binding = Bindings(side.api, key=gang_of)
    timer = ReasonTimer(lambda: side.told(TOO_LARGE))
    applied: dict[str, float] = {}
    started = time.monotonic()

    def apply(index: int) -> None:
        if index == jobs // 2:
            side.submit(Gang(TOO_LARGE, int(nodes * TOO_MANY_NODES), NODE_GPUS, 0))
            timer.start()
        name = f"job-{index}"
        side.submit(Gang(name, 1, 1, 0))
        applied[name] = time.monotonic()

    with ThreadPoolExecutor(APPLIERS) as pool:
        for _ in pool.map(apply, range(jobs)):
            pass
    say(f"{side.name}: applied in {time.monotonic() - started:.0f} s")
    bound = binding.wait(applied, timeout_seconds)
    binding.end()
    waits = sorted(bound[name] - at for name, at in applied.items())
    told, message = timer.wait(timeout_seconds)
    writes.wait_until_quiet()
    written = per_job(writes.count(), jobs + 1)
    cpu = used.seconds()
    return JobFigures(
        jobs_per_second=round(jobs / (max(bound.values()) - started), 1),
        apply_to_bound_p50_s=round(statistics.median(waits), 2),
        apply_to_bound_p99_s=round(waits[int(len(waits) * 0.99)], 2),
        writes_per_job=round(sum(sum(by.values()) for by in written.values()), 2),
        writes=written,
        rss_mib=round(memory.peak_mib(), 1),
        cpu_s=cpu,
        jobs_per_cpu_second=round(jobs / sum(cpu.values()), 1),
        infeasible_told_s=told,
        infeasible_message=message,
    )


def per_job(written: Counter[tuple[str, str]], jobs: int) -> dict[str, dict[str, float]]:
    """The writes of each writer but the bench for each job; what is next to nothing is left out."""
    found: dict[str, dict[str, float]] = {}
    for (who, what), count in sorted(written.items()):
        if who != BENCH and count / jobs >= LEAST_SHARE:
            found.setdefault(who, {})[what] = round(count / jobs, 3)
    return found


def gang_of(pod: Manifest) -> str:
    """The job that a pod is of."""
    return pod["metadata"].get("labels", {}).get(GANG, "")
