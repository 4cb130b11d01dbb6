"""How much of a role's requests a router should send to a replica, by its GPU type.

In percent of what a replica on the best type carries, in steps of five: small corrections of what
is measured are no reason to label all pods anew.
"""

from collections.abc import Sequence
from typing import Final

from plimsoll.api.inference_job import BucketLoad, InferenceJob
from plimsoll.api.parts.roles import Role
from plimsoll.planning.serving.replicas import Capacities, capacities, replicas_needed, role_status
from plimsoll.planning.serving.size_groups import groups_of, loads_of

MOST: Final = 100
STEP: Final = 5


def router_weights(job: InferenceJob, role: Role, group: str) -> dict[str, int]:
    """The weight of a replica in a size group by GPU type; types of unknown capacity have none."""
    known, status = capacities(job, role), role_status(job, role)
    loads = loads_of(status.loads if status else (), group, groups_of(job, role))
    types = sorted({gpu_type for gpu_type, _ in known})
    carried = {each: _carried(known, loads, each) for each in types}
    best = max(carried.values(), default=0.0)
    return {each: _percent(load / best) for each, load in carried.items() if load > 0}


def _carried(known: Capacities, loads: Sequence[BucketLoad], gpu_type: str) -> float:
    """What part of the load as it is one replica carries; without load, what it carries of all."""
    needed = replicas_needed(loads, known, gpu_type)
    if needed is None:
        return 0.0
    return (
        1 / needed if needed else sum(load for (each, _), load in known.items() if each == gpu_type)
    )


def _percent(share: float) -> int:
    return max(1, round(share * MOST / STEP) * STEP)
