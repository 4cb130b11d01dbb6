"""The load of a replica that shares its GPU, by which plans choose its neighbours.

It is the wanted load of its role, divided among its replicas, over the time within which a request
is promised: requests that are promised sooner press more. Loads of services that share GPUs are
compared as they are, so they should be in the same unit. Without a load it is unknown, and taken to
be that of the others.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import ServiceLevel
from plimsoll.planning.serving.autoscaling import MOST
from plimsoll.planning.serving.replicas import role_status
from plimsoll.planning.serving.size_groups import group_of, groups_of, loads_of, whole_role
from plimsoll_placement.model import WHOLE_GPU_MILLI, Role

_NANO: Final = 10**9


def with_shared_load(role: Role, job: InferenceJob) -> Role:
    """The role with the load of one of its replicas, if it shares GPUs and that is known."""
    if not 0 < role.shape.gpu_milli < WHOLE_GPU_MILLI:
        return role
    name, group = whole_role(role.name)
    spec = next(each for each in job.spec.roles if each.name == name)
    status, groups = role_status(job, spec), groups_of(job, spec)
    loads = loads_of(status.loads, group or groups[0], groups) if status else ()
    if not loads:
        return role
    placement = job.status.placement
    places = placement.assignments if placement else ()
    mine = [p for p in places if p.role == name and group_of(p, groups) == (group or groups[0])]
    replicas = max(1, len(mine), math.ceil(role.wanted_milli / max(role.yields.values())[0]))
    total = min(Fraction(sum(load.wanted for load in loads)), Fraction(MOST))
    return replace(
        role, load_nano=round(total * _NANO / replicas / _objective_seconds(job.spec.slo))
    )


def _objective_seconds(level: ServiceLevel) -> Fraction:
    """The time within which a request is promised; a second without any promise."""
    promise = level.latency or level.time_to_first_token or level.time_per_output_token
    return Fraction(promise.total_seconds()) if promise else Fraction(1)
