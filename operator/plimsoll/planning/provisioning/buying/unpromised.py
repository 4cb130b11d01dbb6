"""Devices that a waiting job requests, and that no pool says its nodes to come would have."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.naming import first_few
from plimsoll.observe.eligibility.placement_spec import placement_spec
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.observe.nodes.pool_templates import way_of
from plimsoll.observe.pod_templates import pod_templates
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.cluster.pod_requests import besides_gpus
from plimsoll.planning.provisioning.future_nodes import resources_to_come
from plimsoll.vocabulary.reasons import Reason

_LACKS: Final = frozenset(
    {Reason.CANNOT_FIT, Reason.INSUFFICIENT_GPUS, Reason.INSUFFICIENT_RESOURCES}
)


def with_unpromised(holds: Iterable[Hold], snapshot: Snapshot) -> Iterator[Hold]:
    """The holds, which also say where a device would have to be promised for nodes to be bought."""
    for hold in holds:
        text = _unpromised(snapshot, hold) if hold.reason in _LACKS else ""
        yield replace(hold, message=f"{hold.message}; {text}") if text else hold


def _unpromised(snapshot: Snapshot, hold: Hold) -> str:
    job = snapshot.job_by_name[hold.job].resource
    asked, types = _devices(job), _types(job)
    if not asked:
        return ""
    pools = [
        (pool.metadata.name, asked - resources_to_come(pool, snapshot).keys())
        for pool in snapshot.pools
        if way_of(pool) is not None and (not types or pool.spec.gpu_type in types)
    ]
    if not pools or not all(lacking for _, lacking in pools):
        return ""
    names = first_few(sorted({name for _, lacking in pools for name in lacking}))
    listed = first_few([pool for pool, _ in pools])
    return (
        f"no node is bought for it, since provisioning.resources of GPUPool {listed} does not"
        f" promise {names}"
    )


def _devices(job: Job) -> set[str]:
    """The devices that the pods of a job request besides GPUs."""
    return {
        name
        for _, template in pod_templates(job)
        for name in besides_gpus(effective_requests(placement_spec(template)))
        if "/" in name
    }


def _types(job: Job) -> set[str]:
    """The GPU types that a job names; empty if it runs on any."""
    if isinstance(job, TrainingJob):
        return {each.type for each in job.spec.accelerators}
    return {profile.type for role in job.spec.roles for profile in role.profiles}
