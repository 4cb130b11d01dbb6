"""The objects of one job, as the commands about it read them at one moment."""

from dataclasses import dataclass

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import Job
from plimsoll.kube.objects.event import Event
from plimsoll.kube.objects.objects import Pod


@dataclass(frozen=True, slots=True)
class JobObjects:
    """A job with its pods, what was said in its namespace, and the pools, if they may be seen."""

    job: Job
    pods: tuple[Pod, ...] = ()
    events: tuple[Event, ...] = ()
    pools: tuple[GPUPool, ...] = ()
