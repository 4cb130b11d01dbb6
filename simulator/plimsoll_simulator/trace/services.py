"""The services of a trace: what comes to them, and what their profiles say that they answer."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.errors import BadInput
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.programs.request_rate import RequestRate
from plimsoll_simulator.programs.serving import TrueService
from plimsoll_simulator.story import Event
from plimsoll_simulator.trace.applied import as_applied
from plimsoll_simulator.trace.requests import Requests
from plimsoll_simulator.trace.rows import Moment, Row
from plimsoll_simulator.twin import Twin

SHARES_GPUS: Final = "shares GPUs, which the simulated nodes do not"
_LOAD_QUERY: Final = 'load{namespace="$namespace", service="$job"}'


@dataclass(frozen=True, slots=True)
class TracedService:
    """A service, and what it meets with."""

    job: InferenceJob
    truth: TrueService

    def event(self) -> Event:
        """Its creation, at the beginning."""
        return Event(0.0, partial(Twin.serve, manifest=_manifest(self.job), truth=self.truth))


def traced_services(
    services: Mapping[str, InferenceJob],
    requests: Sequence[Row[Requests]],
    seconds: Callable[[Moment], float],
    types: Mapping[str, str],
) -> Iterator[TracedService]:
    """The services that lines are about, where nodes have GPUs of these types. Raises BadInput."""
    lines: dict[str, list[Row[Requests]]] = defaultdict(list)
    for row in requests:
        lines[f"{row.content.namespace}/{row.content.service}"].append(row)
    for name, mine in lines.items():
        job = services.get(name)
        where = f"{mine[0].where}: service"
        if job is None:
            raise BadInput([f"{where}: there is no InferenceJob {name}: add it with -f"])
        if why_not := why_not_served(job):
            raise BadInput([f"{where}: InferenceJob {name} {why_not}"])
        yield TracedService(job, TrueService(_rate(mine, seconds), _answers(job), types=types))


def why_not_served(job: InferenceJob) -> str:
    """Why a service cannot be simulated, "" if it can."""
    if job.spec.target_ref is not None:
        return "scales a workload that is not there: only roles can be simulated"
    role = job.spec.roles[0]
    if len(job.spec.roles) > 1 or role.pods_per_replica > 1:
        return "has several kinds of pods: only one role of one pod per replica can be simulated"
    if role.milli_gpus_per_pod % WHOLE_GPU_MILLI:
        return SHARES_GPUS
    if any(profile.load is None or profile.bucket != ANY_SIZE for profile in role.profiles):
        return "needs a load in each of its profiles, without a bucket, to be simulated"
    if job.spec.load.deadline is not None:
        return "has a backlog until a deadline, which cannot be simulated"
    return ""


def _rate(lines: Sequence[Row[Requests]], seconds: Callable[[Moment], float]) -> RequestRate:
    times = [seconds(row.content.at) for row in lines]
    for (before, after), row in zip(pairwise(times), lines[1:], strict=True):
        if not before < after:
            raise BadInput([f"{row.where}: at: must be later than the line before of its service"])
    return RequestRate([*times, math.inf], [row.content.rate for row in lines])


def _answers(job: InferenceJob) -> dict[str, float]:
    """What a replica answers, by GPU type."""
    return {each.type: float(each.load or 0) for each in job.spec.roles[0].profiles}


def _manifest(job: InferenceJob) -> Raw:
    """The service as it is applied, but for how it asks for its load."""
    raw = as_applied(job)
    kept = {key: raw["spec"]["load"][key] for key in ("forecast",) if key in raw["spec"]["load"]}
    load = {**kept, "queries": [{"name": "Load", "query": _LOAD_QUERY}]}
    return {**raw, "spec": {**raw["spec"], "load": load}}
