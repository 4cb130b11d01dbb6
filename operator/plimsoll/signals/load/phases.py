"""The phases of requests: which objective tells how the replicas of a role do.

Where roles `prefill` and `decode` serve a request one after the other, the first token is prefill's
work and those after it are decode's. So a slow prefill says nothing about decode, and the reverse.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import ServiceLevel
from plimsoll.api.parts.roles import Role
from plimsoll.planning.serving.phases import DECODE, PREFILL

FIRST_TOKEN, OUTPUT_TOKEN, LATENCY = "TimeToFirstToken", "TimePerOutputToken", "Latency"
TIMES: Final = (FIRST_TOKEN, OUTPUT_TOKEN, LATENCY)
PHASE_OF: Final[Mapping[str, str]] = {FIRST_TOKEN: PREFILL, OUTPUT_TOKEN: DECODE}
"""The role whose work an objective is about, where a service has that role."""


def objectives(promised: ServiceLevel) -> dict[str, timedelta]:
    """The promised times, by what they measure."""
    times = (promised.time_to_first_token, promised.time_per_output_token, promised.latency)
    return {name: time for name, time in zip(TIMES, times, strict=True) if time is not None}


def objectives_of(promised: ServiceLevel, role: str) -> dict[str, timedelta]:
    """The objectives that tell how a role's replicas do.

    Of a phase that is its own; without one, what is promised of whole requests.
    """
    times = objectives(promised)
    if role not in PHASE_OF.values():
        return times
    own = {name: time for name, time in times.items() if PHASE_OF.get(name) == role}
    return own or {name: time for name, time in times.items() if name not in PHASE_OF}


def measured_by(job: InferenceJob, measurement: str) -> Sequence[Role]:
    """The roles whose requests tell a time: those of its phase, or all without such a role."""
    phase = PHASE_OF.get(measurement)
    mine = [role for role in job.spec.roles if role.name == phase]
    return mine or job.spec.roles


def before(job: InferenceJob, role: str) -> Sequence[Role]:
    """The roles through which requests come before they reach this one."""
    return [each for each in job.spec.roles if role == DECODE and each.name == PREFILL]
