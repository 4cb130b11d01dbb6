"""The life of one job: it waits, starts, trains at its true speed, restarts, and is done.

A job is its own trainer: it measures its steps, and chooses its batch by what it has measured.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from plimsoll_bench.elastic.rounds.knowledge import Knowledge
from plimsoll_placement.estimate.throughput.noise import GradientNoise
from plimsoll_placement.estimate.throughput.samples import Sample
from plimsoll_simulator.recorded.gpu_pools import Place
from plimsoll_simulator.recorded.recording import Application, Arrival


@dataclass(slots=True)
class Life:
    """One job from its submission on; times in seconds since the beginning.

    `since` is when it was given its place.
    """

    arrival: Arrival
    application: Application
    knowledge: Knowledge
    place: Place | None = None
    since: float = 0.0
    starts: int = 0
    delay_seconds: float = 0.0
    progress: float = 0.0
    epoch: int = 0
    local_batch: int = 0
    passes: int = 1
    gpu_seconds: float = 0.0
    training_gpu_seconds: float = 0.0
    completed: float | None = None
    noise: GradientNoise | None = field(default=None)

    @property
    def restarts(self) -> int:
        """How often it was restarted."""
        return max(0, self.starts - 1)

    def put(self, place: Place | None, now: float) -> None:
        """Give it a place, or none; another GPU type, shape or node is a restart."""
        if place == self.place:
            return
        self.place, self.since = place, now
        if place is not None:
            self.starts += 1
            self.delay_seconds = self.application.habits.restart_seconds
            self._choose_batch(place)

    def slide(self, place: Place) -> None:
        """Move it to other, like nodes without a restart."""
        self.place = place

    def advance(self, now: float, seconds: float) -> None:
        """Live for this many seconds from `now` on."""
        if self.place is None or self.completed is not None:
            return
        self.gpu_seconds += seconds * self.place.gpus
        stopped = min(self.delay_seconds, seconds)
        self.delay_seconds -= stopped
        now, left = now + stopped, seconds - stopped
        while left > 0 and self.completed is None:
            used = self._train(self.place, now, left)
            now, left = now + used, left - used
            self._choose_batch(self.place)

    def _train(self, place: Place, now: float, seconds: float) -> float:
        """Train until the time or the epoch is over; return the seconds that this took."""
        replicas, shape = place.gpus, place.shape
        application = self.application
        batch = self.local_batch * self.passes * replicas
        self.noise = application.training.noise(batch, self.epoch)
        step, sync = application.timings[place.gpu_type].seconds(shape, self.local_batch)
        slowdown = application.habits.slowdown
        self._learn(
            place, Sample(len(shape), replicas, self.local_batch, step * slowdown, sync * slowdown)
        )
        step_seconds = (step + (self.passes - 1) * (step - sync)) * slowdown
        scale = np.array([batch / application.training.smallest_batch])
        rate = float(self.noise.gain(scale)[0]) / step_seconds
        end = application.training.progress_after(self.epoch + 1)
        used = min(seconds, max((end - self.progress) / rate, 0.0))
        self.training_gpu_seconds += used * replicas
        self.progress = min(end, self.progress + rate * used)
        if used < seconds or self.progress >= end:
            self._end_epoch(end, now + used)
        return used

    def _end_epoch(self, progress: float, now: float) -> None:
        self.progress = progress
        self.epoch += 1
        if self.epoch >= self.application.habits.epochs:
            self.completed = now

    def _learn(self, place: Place, sample: Sample) -> None:
        known = self.knowledge.samples.get(place.gpu_type, frozenset())
        same = (sample.nodes, sample.replicas, sample.local_batch)
        samples = self.knowledge.samples
        if all((s.nodes, s.replicas, s.local_batch) != same for s in known):
            samples = {**samples, place.gpu_type: known | {sample}}
        self.knowledge = replace(self.knowledge, samples=samples, noise=self.noise)

    def _choose_batch(self, place: Place) -> None:
        """Choose the best batch by what is known of this type, otherwise the smallest."""
        shape, replicas = place.shape, place.gpus
        limits = self.application.limits(
            place.gpu_type, self.application.local_most(place.gpu_type, shape)
        )
        found = self.knowledge.batches(
            place.gpu_type, np.array([float(len(shape))]), np.array([float(replicas)]), limits
        )
        if found is not None and found.rate[0] > 0:
            self.local_batch, self.passes = int(found.local_batch[0]), int(found.passes[0])
        else:
            local = -(-max(limits.smallest, limits.local_least * replicas) // replicas)
            self.passes = -(-local // limits.local_most)
            self.local_batch = -(-local // self.passes)
        most = limits.largest // (replicas * self.passes)
        self.local_batch = max(1, min(self.local_batch, limits.local_most, most))
