"""Devices that a waiting job requests, and that no pool says its nodes to come would have."""

from collections.abc import Container, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import Job
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob
from plimsoll.naming import first_few
from plimsoll.observe.eligibility.placement_spec import placement_spec
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.observe.nodes.pool_templates import way_of
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.cluster.pod_requests import besides_gpus
from plimsoll.planning.provisioning.future_nodes import resources_to_come
from plimsoll.remembered import once_for_each
from plimsoll.vocabulary.reasons import Reason

_LACKS: Final = frozenset(
    {Reason.CANNOT_FIT, Reason.INSUFFICIENT_GPUS, Reason.INSUFFICIENT_RESOURCES}
)


def with_unpromised(
    holds: Iterable[Hold], snapshot: Snapshot, served: Container[JobName]
) -> Iterator[Hold]:
    """The holds, which also say which pools do not promise a device that the job requests.

    `served`: the jobs for which there are nodes that are, or could be, bought.
    """
    promises = _Promises(snapshot)
    for hold in holds:
        text = ""
        if hold.reason in _LACKS and hold.job not in served:
            text = promises.missing(snapshot.job_by_name[hold.job].resource)
        yield replace(hold, message=f"{hold.message}; {text}") if text else hold


class _Promises:
    """What the pools whose nodes can be bought promise; worked out once it is needed."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @cached_property
    def _by_pool(self) -> Mapping[str, tuple[GPUPool, AbstractSet[str]]]:
        snapshot = self._snapshot
        pools = (pool for pool in snapshot.pools if way_of(pool) is not None)
        return {p.metadata.name: (p, resources_to_come(p, snapshot).keys()) for p in pools}

    def missing(self, job: Job) -> str:
        """Which pools lack what a job's pods with GPUs request, in words; "" if one lacks nothing.

        Pools of GPU types on which those pods do not run do not count.
        """
        for template, types in _with_gpus(job):
            asked = _devices(template)
            if not asked:
                continue
            lacking = {
                name: asked - promised
                for name, (pool, promised) in self._by_pool.items()
                if not types or pool.spec.gpu_type in types
            }
            if lacking and all(lacking.values()):
                return _sentence(lacking)
        return ""


def _sentence(lacking: Mapping[str, AbstractSet[str]]) -> str:
    names = [f"{pool} ({first_few(sorted(lacks))})" for pool, lacks in lacking.items()]
    return f"provisioning.resources does not promise what it requests: GPUPool {first_few(names)}"


def _with_gpus(job: Job) -> Iterator[tuple[PodTemplate, AbstractSet[str]]]:
    """The templates of a job's pods with GPUs, with the types that they name; none: any."""
    if not isinstance(job, TrainingJob):
        for role in job.spec.roles:
            yield role.template, {profile.type for profile in role.profiles}
        return
    yield job.spec.workers.template, {each.type for each in job.spec.accelerators}
    for beside in job.spec.roles:
        if beside.milli_gpus_per_replica:
            yield beside.template, frozenset(beside.accelerator_types)


@once_for_each
def _devices(template: PodTemplate) -> frozenset[str]:
    """The devices that pods request besides GPUs."""
    requested = besides_gpus(effective_requests(placement_spec(template)))
    return frozenset(name for name in requested if "/" in name)
