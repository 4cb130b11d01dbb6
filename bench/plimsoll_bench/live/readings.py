"""What the operator uses between two moments: memory, CPU time, requests, turns.

Its own metrics count turns and requests by verb. What the API server's priority and fairness says
of its account also counts kopf's watches, and what had to wait or was rejected.
"""

import re
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from urllib3.exceptions import HTTPError

from control_plane import cpu_seconds, family, rss_mib
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.processes.operator_process import OperatorProcess

SAMPLE_SECONDS = 1.0
FEWEST_SAMPLES = 6
FLOW_SCHEMA = "service-accounts"
_LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_REQUESTS = "plimsoll_api_request_duration_seconds_count"
_WRITES = "plimsoll_api_writes_total"
_FLOW = "apiserver_flowcontrol"
_DISPATCHED = f"{_FLOW}_dispatched_requests_total"
_REJECTED = f"{_FLOW}_rejected_requests_total"
_WAITED = f"{_FLOW}_request_wait_duration_seconds_sum"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the operator has used and requested since it started."""

    at: float
    cpu_seconds: float
    requests: dict[str, float]
    writes: float
    turns: float
    turn_seconds: float
    turn_cpu_seconds: float
    dispatched: float
    rejected: float
    waited_seconds: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The memory of the main process and of the search processes, and the writes so far."""

    at: float
    operator_mib: float
    solvers_mib: float
    writes: float


@dataclass
class Phase:
    """What it used for some time, per second on average; `most` is over five seconds.

    Of a turn of the loop: `turn_s` with the wait for the solver, `turn_cpu_s` of the processor.
    """

    seconds: float = 0.0
    cpu_s_per_s: float = 0.0
    turns_per_s: float = 0.0
    turn_s: float = 0.0
    turn_cpu_s: float = 0.0
    requests_per_s: dict[str, float] = field(default_factory=dict[str, float])
    writes_per_s: float = 0.0
    most_writes_per_s: float = 0.0
    server_requests_per_s: float = 0.0
    server_rejected: float = 0.0
    server_waited_s: float = 0.0
    operator_mib: float = 0.0
    solvers_mib: float = 0.0
    most_mib: float = 0.0


@dataclass
class Growth:
    """The trend of memory: medians of the thirds of a time, and the slope of the last two."""

    thirds_mib: list[float] = field(default_factory=list[float])
    operator_thirds_mib: list[float] = field(default_factory=list[float])
    slope_mib_per_hour: float = 0.0
    operator_slope_mib_per_hour: float = 0.0


class Sampler:
    """Samples an operator now and then, in a thread, until the program ends."""

    def __init__(self, operator: OperatorProcess) -> None:
        self._operator = operator
        self.samples: list[Sample] = []
        threading.Thread(target=self._look, daemon=True).start()

    def between(self, begin: float, end: float) -> list[Sample]:
        """The samples taken in a time."""
        return [sample for sample in self.samples if begin <= sample.at <= end]

    def _look(self) -> None:
        while True:
            with suppress(HTTPError, LookupError):  # it is starting, or has ended
                self.samples.append(self._sample())
            time.sleep(SAMPLE_SECONDS)

    def _sample(self) -> Sample:
        own, *others = family(self._operator.pid)
        writes = _total(self._operator.probe("/metrics")[1], _WRITES)
        solvers = round(sum(map(rss_mib, others)), 1)
        return Sample(time.monotonic(), round(rss_mib(own), 1), solvers, writes)


def reading(api: ApiServer, operator: OperatorProcess) -> Reading:
    """What it has used and requested so far."""
    own, server = operator.probe("/metrics")[1], api.text("/metrics")
    flow = f'flow_schema="{FLOW_SCHEMA}"'
    return Reading(
        at=time.monotonic(),
        cpu_seconds=sum(map(cpu_seconds, family(operator.pid))),
        requests=_by_verb(own),
        writes=_total(own, _WRITES),
        turns=_total(own, "plimsoll_loop_seconds_count"),
        turn_seconds=_total(own, "plimsoll_loop_seconds_sum"),
        turn_cpu_seconds=_total(own, "plimsoll_loop_cpu_seconds_total"),
        dispatched=_total(server, _DISPATCHED, flow),
        rejected=_total(server, _REJECTED, flow),
        waited_seconds=_total(server, _WAITED, flow),
    )


def phase(before: Reading, after: Reading, samples: Sequence[Sample]) -> Phase:
    """What it used from one reading to the other."""
    took = after.at - before.at
    turns = after.turns - before.turns
    asked = {verb: n - before.requests.get(verb, 0) for verb, n in after.requests.items()}
    return Phase(
        seconds=round(took, 1),
        cpu_s_per_s=round((after.cpu_seconds - before.cpu_seconds) / took, 4),
        turns_per_s=round(turns / took, 3),
        turn_s=round((after.turn_seconds - before.turn_seconds) / max(1, turns), 4),
        turn_cpu_s=round((after.turn_cpu_seconds - before.turn_cpu_seconds) / max(1, turns), 4),
        requests_per_s={verb: round(n / took, 3) for verb, n in sorted(asked.items()) if n},
        writes_per_s=round((after.writes - before.writes) / took, 2),
        most_writes_per_s=most_writes_per_second(samples),
        server_requests_per_s=round((after.dispatched - before.dispatched) / took, 2),
        server_rejected=after.rejected - before.rejected,
        server_waited_s=round(after.waited_seconds - before.waited_seconds, 3),
        operator_mib=statistics.median(s.operator_mib for s in samples) if samples else 0.0,
        solvers_mib=statistics.median(s.solvers_mib for s in samples) if samples else 0.0,
        most_mib=round(max((_whole(s) for s in samples), default=0.0), 1),
    )


def most_writes_per_second(samples: Sequence[Sample], seconds: float = 5.0) -> float:
    """The highest rate of writes over at least this many seconds."""
    most = 0.0
    first = 0
    for last in samples:
        while first + 1 < len(samples) and last.at - samples[first + 1].at >= seconds:
            first += 1
        took = last.at - samples[first].at
        if took >= seconds:
            most = max(most, (last.writes - samples[first].writes) / took)
    return round(most, 1)


def growth(samples: Sequence[Sample]) -> Growth:
    """The trend of memory over the samples."""
    if len(samples) < FEWEST_SAMPLES:
        return Growth()
    third = len(samples) // 3
    parts = samples[:third], samples[third : 2 * third], samples[2 * third :]
    late = samples[third:]
    return Growth(
        [round(statistics.median(map(_whole, part)), 1) for part in parts],
        [round(statistics.median(s.operator_mib for s in part), 1) for part in parts],
        _slope([s.at for s in late], [_whole(s) for s in late]),
        _slope([s.at for s in late], [s.operator_mib for s in late]),
    )


def _slope(seconds: Sequence[float], mib: Sequence[float]) -> float:
    return round(statistics.linear_regression(seconds, mib).slope * 3600, 2)


def _whole(sample: Sample) -> float:
    return sample.operator_mib + sample.solvers_mib


def _by_verb(text: str) -> dict[str, float]:
    found = {
        labels: float(value) for name, labels, value in _LINE.findall(text) if name == _REQUESTS
    }
    return {labels.split('"')[1]: value for labels, value in found.items()}


def _total(text: str, wanted: str, label: str = "") -> float:
    return sum(
        float(value)
        for name, labels, value in _LINE.findall(text)
        if name == wanted and label in labels
    )
