"""What happens on the day: what users submit, and what can be rented when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from plimsoll_bench.day.scene import Submitted, applying, serving, setting, submitted
from plimsoll_bench.day.services import Recorded
from plimsoll_bench.provisioning.market import Source, gpu_pool, supply
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.programs.request_rate import RequestRate
from plimsoll_simulator.programs.serving import TrueService
from plimsoll_simulator.recorded.recording import Application
from plimsoll_simulator.recorded.submission import NAMESPACE, WORKER_COUNTS
from plimsoll_simulator.story import Event
from plimsoll_simulator.twin import Twin

LONGEST_SECONDS: Final = 14 * 86_400.0
"""Until when spot comes and goes: long after the last job is done."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Jobs come, and services serve, for so many seconds; it is over once all jobs are done.

    `least_share`: of the workers that its owner asked for, with how many a job would still run.
    """

    applications: Mapping[str, Application]
    jobs: Sequence[Submitted]
    services: Mapping[Recorded, TrueService]
    sources: Sequence[Source]
    seconds: float
    least_share: float

    def submissions(self, objective: Raw) -> Iterator[Event]:
        """What users submit, the policy and the pools included."""
        yield from map(applying, setting(objective, map(gpu_pool, self.sources)))
        for service, truth in self.services.items():
            yield serving(service, _until(truth, self.seconds))
            yield Event(self.seconds, partial(_end, name=service.name))
        for job in self.jobs:
            yield submitted(job, self.applications[job.arrival.application], least=self._least(job))

    def _least(self, job: Submitted) -> int:
        """The fewest workers with which a job runs: at most the share of those asked for."""
        fitting = [n for n in WORKER_COUNTS if n <= job.gpus * self.least_share]
        return max(fitting, default=WORKER_COUNTS[0])

    def meanwhile(self) -> Iterator[Event]:
        """What can be had."""
        for source in self.sources:
            yield from supply(source, LONGEST_SECONDS)


def _until(truth: TrueService, seconds: float) -> TrueService:
    """The same without requests after a time."""
    rates, times = truth.requests.rates, truth.requests.times
    kept = [rate for rate, ends in zip(rates, times[1:], strict=True) if ends <= seconds]
    return replace(truth, requests=RequestRate(times[: len(kept) + 1], kept))


def _end(twin: Twin, name: str) -> None:
    twin.api.delete(Key("inferencejobs", NAMESPACE, name))
