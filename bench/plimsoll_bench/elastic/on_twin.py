"""The recorded workloads as users would submit them, on the twin under the operator's own path.

Each recorded job is a `TrainingJob` of one to 24 workers with a GPU each. It states the speed of
one GPU of each type, its batches, its work in samples and that it is faster within a node; all else
is what its workers report. They change their batch as they train. A job trains as recorded
(`plimsoll_simulator`), and loads its checkpoint for as long as a restart was recorded to take.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll_bench.twin.cluster import Twin, TwinTerms, lived
from plimsoll_bench.twin.nodes import gpu_node
from plimsoll_bench.twin.patches import Raw
from plimsoll_bench.twin.training import Gang, LocalBatch, Pace, Run
from plimsoll_simulator.figures import SECONDS_PER_HOUR, Figures
from plimsoll_simulator.gpu_pools import Pool, node_names
from plimsoll_simulator.recording import Application, Arrival

NAMESPACE = "elastic"
PATIENCE_SECONDS = 86_400.0
"""How long a workload of which nothing runs is lived on with: then nothing ever will."""
WORKER_COUNTS = (1, 2, 4, 8, 12, 16, 20, 24)
"""Powers of two within a node, then whole nodes of some type."""


@dataclass(frozen=True, slots=True)
class RecordedSpeed:
    """How fast a recorded application really is, in samples of its smallest batch."""

    application: Application

    def __call__(self, gang: Gang, done: float, /) -> Pace:
        """Its pace until the end of the epoch, in which its gradients are as noisy as recorded."""
        training, habits = self.application.training, self.application.habits
        smallest, progress = training.smallest_batch, done / training.smallest_batch
        ends = (training.progress_after(epoch + 1) for epoch in range(habits.epochs - 1))
        epoch, end = next(
            (pair for pair in enumerate(ends) if pair[1] > progress + 1e-6),
            (habits.epochs - 1, math.inf),
        )
        local = gang.batch or LocalBatch(-(-smallest // gang.gpus), 1)
        shape = tuple(sorted(gang.gpus_by_node.values(), reverse=True))
        timings = self.application.timings[gang.gpu_type]
        step, sync = timings.seconds(shape, local.samples)
        # Beyond the largest local batch that was recorded for a shape, more takes longer.
        alone = (step - sync) * max(1.0, local.samples / timings.local_most(shape))
        seconds = (sync + local.passes * alone) * habits.slowdown
        batch = local.samples * local.passes * gang.gpus
        noise = training.noise(batch, epoch)
        gain = float(noise.gain(np.array([batch / smallest]))[0])
        scale = smallest * noise.variance / noise.square if noise.square > 0 else None
        return Pace(gain * smallest / seconds, end * smallest, batch / seconds, scale)


def _single_rate(application: Application, pool: Pool) -> float:
    """The samples per second of one GPU with the smallest batch, as a user would measure them."""
    samples = application.training.smallest_batch
    passes = -(-samples // application.timings[pool.gpu_type].local_most_of_all)
    gang = Gang(pool.gpu_type, {"": 1}, LocalBatch(-(-samples // passes), passes))
    return RecordedSpeed(application)(gang, 0.0).samples_per_second or 0.0


def manifest(arrival: Arrival, application: Application, pools: Sequence[Pool]) -> Raw:
    """A recorded job as its user submits it."""
    training = application.training
    accelerators = [
        {
            "type": pool.gpu_type,
            "throughput": [{"workers": 1, "rate": f"{_single_rate(application, pool):.6f}"}],
            "maxLocalBatch": application.timings[pool.gpu_type].local_most_of_all,
        }
        for pool in pools
    ]
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": arrival.name.lower(), "namespace": NAMESPACE},
        "spec": {
            "queue": "default",
            "workers": {
                "min": 1,
                "max": WORKER_COUNTS[-1],
                "allowed": [*WORKER_COUNTS],
                "gpusPerWorker": 1,
                "template": {"spec": {"containers": [{"name": "main", "image": "recorded:1"}]}},
            },
            "accelerators": accelerators,
            "batch": {
                "size": training.smallest_batch,
                "maxSize": training.largest_batch,
                "maxAccumulation": 256,
            },
            "work": {
                "amount": round(application.total_progress * training.smallest_batch),
                "unit": "samples",
            },
            "topology": {"preferred": "kubernetes.io/hostname"},
            "checkpoint": {"saveSeconds": 0, "restoreSeconds": application.habits.restart_seconds},
        },
    }


@dataclass(frozen=True, slots=True)
class Lived:
    """What became of a workload: its jobs, and the CPU seconds of each plan's solver."""

    runs: Sequence[Run]
    plan_seconds: Sequence[float]


def lived_through(
    arrivals: Sequence[Arrival],
    applications: Mapping[str, Application],
    pools: Sequence[Pool],
    *,
    preset: str = "Completion",
    terms: TwinTerms | None = None,
) -> Lived:
    """A workload under the operator, with a policy of this preset, until all jobs are done.

    Or until none of those left has run for a day.
    """

    async def story(twin: Twin) -> None:
        twin.apply({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
        twin.apply({"kind": "JobQueue", "metadata": {"name": "default"}, "spec": {}})
        policy = {"objective": {"preset": preset}}
        twin.apply({"kind": "PlacementPolicy", "metadata": {"name": "default"}, "spec": policy})
        for pool in pools:
            for name in node_names(pool):
                twin.apply(gpu_node(name, pool.gpu_type, pool.gpus_per_node))
        for arrival in sorted(arrivals, key=lambda each: each.seconds):
            await asyncio.sleep(arrival.seconds - twin.clock.monotonic())
            application = applications[arrival.application]
            job = manifest(arrival, application, pools)
            twin.apply(job, RecordedSpeed(application), changes_batch=True)
        waited = 0.0
        while waited < PATIENCE_SECONDS and (left := _left(twin)):
            await asyncio.sleep(60)
            waited = 0.0 if any(run.gang is not None for run in left) else waited + 60

    twin = lived(story, terms)
    return Lived([*twin.training.runs.values()], twin.solver.seconds)


def _left(twin: Twin) -> list[Run]:
    return [run for run in twin.training.runs.values() if run.account.completed is None]


def figures_of(lived: Lived) -> Figures:
    """The same figures as of a simulated run; GPU-hours count from binding a pod to its end.

    Where a job is not done, they are not finite.
    """
    accounts = [run.account for run in lived.runs]
    ends = [account.completed or math.inf for account in accounts]
    times = sorted(end - each.submitted for end, each in zip(ends, accounts, strict=True))
    hours, count = SECONDS_PER_HOUR, len(accounts)
    useful = sum(account.useful_gpu_seconds + account.lost_gpu_seconds for account in accounts)
    return Figures(
        jobs=count,
        mean_jct_hours=sum(times) / count / hours,
        p99_jct_hours=times[int(0.99 * count)] / hours,
        makespan_hours=(max(ends) - min(each.submitted for each in accounts)) / hours,
        gpu_hours_per_job=sum(each.held_gpu_seconds for each in accounts) / count / hours,
        training_gpu_hours_per_job=useful / count / hours,
        restarts_per_job=sum(account.starts - 1 for account in accounts) / count,
        max_round_seconds=max(lived.plan_seconds),
        mean_round_seconds=sum(lived.plan_seconds) / len(lived.plan_seconds),
    )
