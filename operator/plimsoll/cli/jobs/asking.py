"""Find the job that a user names, and say which of the cluster's objects are about it."""

import argparse
import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.cluster.connection import Cluster, connected
from plimsoll.cli.cluster.reading import Known, Scope, Wanted, read
from plimsoll.cli.job_names import JobKey, Workload, job_named
from plimsoll.cli.jobs.naming import title
from plimsoll.cli.jobs.objects import JobObjects
from plimsoll.cli.jobs.pods import pods_by_job
from plimsoll.cli.jobs.stored import (
    JOB_TYPES,
    StoredInferenceJob,
    StoredJob,
    StoredPool,
    StoredTrainingJob,
    job_of,
    models,
)
from plimsoll.cli.output.progress import slow
from plimsoll.errors import NothingFound, UnusableCluster
from plimsoll.kube.http.client import Selection
from plimsoll.kube.http.resources import EVENTS, PODS
from plimsoll.kube.objects.event import Event
from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.adoption.kinds.table import ADAPTERS, adapter_of_kind
from plimsoll.observe.labels import JOB_UID

JOBS: tuple[Wanted[Any], ...] = tuple(
    Wanted(each.resource(), each, scope=Scope.OWN) for each in JOB_TYPES
)
PRICES: Wanted[Any] = Wanted(StoredPool.resource(), StoredPool)
Kind = tuple[str, str]
"""A kind by its apiVersion and name."""
SAID: Wanted[Any] = Wanted(EVENTS, Event, scope=Scope.OWN)


def asked(options: argparse.Namespace) -> tuple[Cluster, Job]:
    """The job that the options name, and the cluster with its namespace.

    Raises NothingFound, BadInput and UnusableCluster.
    """
    inner = options.job.split("/")[1:-1]
    if inner:
        options.namespace, options.all_namespaces = inner[0], False
    cluster = connected(options)
    with slow("reading the cluster"):
        known = asyncio.run(read(cluster, JOBS))
    stored = _stored(known)
    if not stored and known.missing:
        raise UnusableCluster([known.missing[0]])
    job = job_of(named(options.job, cluster.namespace, stored))
    options.namespace, options.all_namespaces = job.metadata.namespace, False
    return Cluster(cluster.server, job.metadata.namespace), job


def named(text: str, namespace: str | None, stored: Iterable[StoredJob]) -> StoredJob:
    """The one job of that name, or that stands for the workload of that name.

    Raises NothingFound or BadInput, which name the candidates.
    """
    there = {_key(each): each for each in stored}
    return there[job_named(text, namespace, {key: _workload(each) for key, each in there.items()})]


def _workload(stored: StoredJob) -> Workload | None:
    ref: dict[str, Any] = stored.spec.get("workloadRef") or {}
    return Workload(str(ref.get("kind", "")), str(ref.get("name", ""))) if ref else None


def _key(stored: StoredJob) -> JobKey:
    meta = stored.metadata
    return JobKey(stored.model.definition.kind, meta.namespace, meta.name)


def _stored(known: Known) -> list[StoredJob]:
    return [*known.of(StoredTrainingJob).items, *known.of(StoredInferenceJob).items]


def about(job: Job) -> list[Wanted[Any]]:
    """The job itself, its pods, and what makes these."""
    kind = StoredTrainingJob if isinstance(job, TrainingJob) else StoredInferenceJob
    only = Selection(fields=f"metadata.name={job.metadata.name}")
    itself: Wanted[Any] = Wanted(kind.resource(), kind, scope=Scope.OWN, selection=only)
    return [itself, Wanted(PODS, Pod, scope=Scope.OWN, selection=_selection(job)), *_makers(job)]


def _selection(job: Job) -> Selection | None:
    """What the server selects the job's pods by; None where no label tells them from others."""
    if isinstance(job, InferenceJob) and job.spec.target_ref is not None:
        return Selection(labels=job.status.selector) if job.status.selector else None
    is_own = isinstance(job, InferenceJob) or job.spec.workload_ref is None
    return Selection(labels=f"{JOB_UID}={job.metadata.uid}") if is_own else None


def _makers(job: Job) -> Iterator[Wanted[Any]]:
    """What an adopted workload may make that makes its pods."""
    ref = job.spec.workload_ref if isinstance(job, TrainingJob) else None
    left, known = [(ref.api_version, ref.kind)] if ref is not None else [], set[Kind]()
    while left:
        adapter = adapter_of_kind(*left.pop())
        new = adapter.makes - known if adapter is not None else frozenset[Kind]()
        known |= new
        left += new
    for kind in sorted(known):
        made = adapter_of_kind(*kind)
        if made is not None:
            yield Wanted(made.resource, made.type, scope=Scope.OWN)


def controllers(known: Known) -> Mapping[str, str]:
    """The uid of what controls each object that makes pods, by its own."""
    made = (each for adapter in ADAPTERS for each in known.of(adapter.type).items)
    owners = ((each.metadata.uid, each.metadata.controller) for each in made)
    return {uid: owner.uid for uid, owner in owners if owner is not None}


def objects_of(known: Known, job: Job) -> JobObjects:
    """A job with what is about it. Raises NothingFound once it is gone."""
    kind = StoredTrainingJob if isinstance(job, TrainingJob) else StoredInferenceJob
    found = [each for each in known.of(kind).items if each.metadata.uid == job.metadata.uid]
    if not found:
        raise NothingFound([f"{title(job)}: is gone"])
    now = job_of(found[0])
    pods = tuple(known.of(Pod).items)
    is_target = isinstance(now, InferenceJob) and now.spec.target_ref is not None
    return JobObjects(
        now,
        pods if is_target else _own(now, pods, known),
        known.of(Event).items,
        tuple(models(known.of(StoredPool).items, GPUPool)),
    )


def _own(job: Job, pods: Iterable[Pod], known: Known) -> tuple[Pod, ...]:
    return pods_by_job([job], pods, controllers(known)).get(job.metadata.uid, ())
