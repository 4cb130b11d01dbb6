"""What running jobs hold of the cluster, by queue, GPU type and node."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.remembered import once_for_each
from plimsoll_placement.model import GpuType, NodeName, QueueName
from plimsoll_placement.problem import Problem

Place = tuple[QueueName, GpuType, NodeName]
"""The queue that jobs name, the GPU type that they hold, and the node."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The milli-GPUs held at each place, and their uncapped draw in milli-GPUs in typical use."""

    gpu_milli: Mapping[Place, int]
    draw_milli: Mapping[Place, int]


@once_for_each
def holdings(problem: Problem) -> Holdings:
    """What a problem's jobs hold in the roles that they still have."""
    gpus: dict[Place, int] = defaultdict(int)
    draws: dict[Place, int] = defaultdict(int)
    for job in problem.jobs:
        roles = {role.name: role for role in job.roles}
        for assignment in (each for each in job.running if each.role in roles):
            role = roles[assignment.role]
            for name in assignment.nodes:
                place = job.queue, assignment.gpu_type, name
                gpus[place] += role.shape.gpu_milli
                draws[place] += role.full_draw_milli
    return Holdings(gpus, draws)
