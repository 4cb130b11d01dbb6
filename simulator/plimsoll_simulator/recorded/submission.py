"""The recorded workloads as users would submit them, on the twin under the operator's own path.

Each recorded job is a `TrainingJob` of one to 24 workers with a GPU each. It states the speed of
one GPU of each type, its batches, its work in samples and that it is faster within a node; all else
is what its workers report. They change their batch as they train. A job trains as recorded
(`plimsoll_simulator`), and loads its checkpoint for as long as a restart was recorded to take.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.programs.training import Gang, LocalBatch, Pace
from plimsoll_simulator.recorded.gpu_pools import Pool, node_names
from plimsoll_simulator.recorded.recording import Application, Arrival
from plimsoll_simulator.story import Event
from plimsoll_simulator.twin import Twin

NAMESPACE = "elastic"
_CLOUDS_NAME: Final = "karpenter.k8s.aws/instance-gpu-name"
WORKER_COUNTS = (1, 2, 4, 8, 12, 16, 20, 24)
"""Powers of two within a node, then whole nodes of some type."""


@dataclass(frozen=True, slots=True)
class RecordedSpeed:
    """How fast a recorded application really is, in samples of its smallest batch."""

    application: Application

    def local_batch(self, gpu_type: str, batch: int, gpus: int) -> LocalBatch:
        """A batch on so many GPUs of a type: in as few passes as fit, and no smaller than asked."""
        local = -(-batch // gpus)
        passes = -(-local // self.application.timings[gpu_type].local_most_of_all)
        return LocalBatch(-(-local // passes), passes)

    def alone(self, gpu_type: str) -> Gang:
        """A single GPU of a type, with the smallest batch."""
        smallest = self.application.training.smallest_batch
        return Gang(gpu_type, {"": 1}, self.local_batch(gpu_type, smallest, 1))

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
    speed = RecordedSpeed(application)
    return speed(speed.alone(pool.gpu_type), 0.0).samples_per_second or 0.0


def manifest(
    arrival: Arrival,
    application: Application,
    pools: Sequence[Pool],
    *,
    states_speeds: bool = True,
) -> Raw:
    """A recorded job as its user submits it, with or without its GPU types and its rates there."""
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
                "template": {
                    "spec": {"containers": [{"name": "main", "image": f"{arrival.application}:1"}]}
                },
            },
            "accelerators": accelerators if states_speeds else [],
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


def setting(pools: Sequence[Pool], preset: str = "Completion") -> Iterator[Event]:
    """The cluster, and a policy of this preset, as they are from the beginning."""
    policy = {"objective": {"preset": preset}}
    yield from (
        Event(0.0, partial(Twin.apply, manifest=each))
        for each in (
            {"kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {"kind": "JobQueue", "metadata": {"name": "default"}, "spec": {}},
            {"kind": "PlacementPolicy", "metadata": {"name": "default"}, "spec": policy},
            *(
                gpu_node(name, pool.gpu_type, pool.gpus_per_node, {_CLOUDS_NAME: pool.gpu})
                for pool in pools
                for name in node_names(pool)
            ),
        )
    )


def submissions(
    arrivals: Iterable[Arrival],
    applications: Mapping[str, Application],
    pools: Sequence[Pool],
    *,
    states_speeds: bool = True,
) -> Iterator[Event]:
    """The jobs of a workload as they are submitted, with or without their speeds."""
    for arrival in arrivals:
        application = applications[arrival.application]
        yield Event(
            arrival.seconds,
            partial(
                Twin.apply,
                manifest=manifest(arrival, application, pools, states_speeds=states_speeds),
                speed=RecordedSpeed(application),
                changes_batch=True,
            ),
        )
