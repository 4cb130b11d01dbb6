"""The TrainingJobs that would stand for Jobs in files, as the operator would create them."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.inputs.entries import Entry, Key, entries
from plimsoll.cli.inputs.manifests import Manifest, Problem
from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.kube.objects.objects import SchedulingGate
from plimsoll.observe.adoption.batch_jobs import is_gated, stand_in_name
from plimsoll.observe.adoption.stand_ins import is_stand_in
from plimsoll.observe.adoption.workloads import Workloads
from plimsoll.observe.labels import GATE


def stand_ins(
    jobs: Iterable[Entry], there: Mapping[Key, Entry], now: datetime
) -> Iterator[Entry | Problem]:
    """What would stand for each Job, or why nothing can; `there` is what the cluster holds."""
    for entry in jobs:
        if isinstance(entry.content, BatchJob):
            yield from _stand_in(entry.manifest, entry.content, there, now)


def _stand_in(
    manifest: Manifest, job: BatchJob, there: Mapping[Key, Entry], now: datetime
) -> Iterator[Entry | Problem]:
    name, namespace = stand_in_name(job), job.metadata.namespace
    found = there.get(Key(TrainingJob.definition.kind, namespace, name))
    known = [found.content] if found and isinstance(found.content, TrainingJob) else []
    if any(not is_stand_in(each, job) for each in known):
        what = f"TrainingJob {name} exists and stands for something else: rename one of them"
        yield manifest.problem(what)
        return
    (workload,) = Workloads().of([job], known).workloads
    if workload.problem is not None:
        yield manifest.problem(workload.problem.message)
    elif workload.wanted is not None:
        wanted = workload.wanted.manifest
        # Its users have set this, not the Job.
        kept = {"suspend": True} if any(each.spec.suspend for each in known) else {}
        made = {**wanted, "spec": {**wanted["spec"], **kept}}
        yield from entries(Manifest(manifest.origin, made), now)


def as_applied(job: BatchJob, old: BatchJob | None) -> BatchJob:
    """A Job as its manifest leaves it, over the one that is there.

    A new one is held, as the admission policy holds it.
    """
    if old is None:
        return _held(job)
    meta = msgspec.structs.replace(
        old.metadata, labels=job.metadata.labels, annotations=job.metadata.annotations
    )
    gates = old.spec.template.spec.scheduling_gates
    spec = msgspec.structs.replace(_gated(job, gates).spec, suspend=old.spec.suspend)
    return msgspec.structs.replace(job, metadata=meta, spec=spec, status=old.status)


def _held(job: BatchJob) -> BatchJob:
    gates = job.spec.template.spec.scheduling_gates
    found = job if is_gated(job) else _gated(job, (*gates, SchedulingGate(GATE)))
    return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, suspend=True))


def _gated(job: BatchJob, gates: tuple[SchedulingGate, ...]) -> BatchJob:
    template = job.spec.template
    pod = msgspec.structs.replace(template.spec, scheduling_gates=gates)
    template = msgspec.structs.replace(template, spec=pod)
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, template=template))
