"""The recorded workloads as users would submit them, on the twin under the operator's own path.

Each recorded job is a `TrainingJob` of one to 24 workers with a GPU each. It states the speed of
one GPU of each type, its batches and its work in samples; all else is what its workers report. It
trains as recorded (`plimsoll_simulator`), and a restart takes as long as recorded.
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
from plimsoll_simulator.gpu_pools import Pool, node_names
from plimsoll_simulator.recording import Application, Arrival

NAMESPACE = "elastic"
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
        step, sync = self.application.timings[gang.gpu_type].seconds(shape, local.samples)
        alone = (step - sync) * habits.slowdown
        seconds = step * habits.slowdown + (local.passes - 1) * alone
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


def lived_through(
    arrivals: Sequence[Arrival],
    applications: Mapping[str, Application],
    pools: Sequence[Pool],
    *,
    preset: str = "Completion",
    terms: TwinTerms | None = None,
) -> list[Run]:
    """The jobs of a workload, all done."""

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
        runs = twin.training.runs.values()
        while any(run.account.completed is None for run in runs):  # noqa: ASYNC110 - no time passes
            await asyncio.sleep(60)

    return [*lived(story, terms).training.runs.values()]
