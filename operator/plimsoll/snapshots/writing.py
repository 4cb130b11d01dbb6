"""Write a moment to a file: a List of manifests, one per line, under a head of its own.

The format is that of `kubectl get -o json`, so that anything that reads that reads this, and people
can read and edit it. A file is written whole or not at all, and only the newest files are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain
from pathlib import Path

import msgspec

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.kube.http.resources import NODE_CLAIMS
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.watching.workloads import manifest_of
from plimsoll.observe.adoption.kinds.table import adapter_of
from plimsoll.observe.observer import Objects
from plimsoll.observe.template_hash import hashes_by_role
from plimsoll.observe.views.ownership import named_job
from plimsoll.observe.volumes import claim_of, claims_of_job
from plimsoll.snapshots.head import SNAPSHOT_VERSION, Head, Limit, RecordedPlan
from plimsoll.snapshots.stripping import (
    namespace_without,
    node_claim_without,
    node_without,
    pod_without,
    resource_without,
    target_without,
    volume_without,
    workload_without,
)
from plimsoll_placement.effort import Effort
from plimsoll_placement.solution import Solution

_PATTERN = "snapshot-*.json"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Moment:
    """The objects from which a plan was made, and the plan."""

    objects: Objects
    now: datetime
    effort: Effort
    solution: Solution


def write(folder: Path, moment: Moment, *, keep: int) -> Path:
    """Write a moment, and remove all but the newest files; return the file. Raises OSError."""
    at = moment.now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    file = folder / f"snapshot-{at}.json"
    part = folder / f".{file.name}.part"
    try:
        with part.open("wb") as out:
            out.writelines(document(moment))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    for old in sorted(folder.glob(_PATTERN))[:-keep]:
        old.unlink(missing_ok=True)
    return file


def document(moment: Moment) -> Iterator[bytes]:
    """The text of a file, piece by piece."""
    head = Head(
        snapshot_version=SNAPSHOT_VERSION,
        taken=moment.now,
        program_version=metadata.version("plimsoll-operator"),
        effort=Limit.of(moment.effort),
        plan=RecordedPlan.of(moment.solution),
    )
    yield b'{"apiVersion":"v1","kind":"List","plimsoll":'
    yield _encode(head)
    yield b',"items":['
    comma = b""
    for manifest in manifests(moment.objects):
        yield comma + b"\n" + manifest
        comma = b","
    yield b"\n]}\n"


def manifests(objects: Objects) -> Iterator[bytes]:
    """Each object as a manifest."""
    yield from _of_kubernetes(objects)
    for reading in objects.targets:
        if not reading.problem:
            yield _encode(target_without(manifest_of(reading)))
    for item in objects.workloads:
        adapter = adapter_of(item)
        yield _typed(adapter.api_version, adapter.kind, workload_without(item))
    for claim in objects.node_claims or ():
        yield _typed(NODE_CLAIMS.api_version, "NodeClaim", node_claim_without(claim))
    for resource in objects.resources:
        yield _encode(resource_without(resource))


def _of_kubernetes(objects: Objects) -> Iterator[bytes]:
    for namespace in objects.namespaces:
        yield _typed("v1", "Namespace", namespace_without(namespace))
    for node in objects.nodes:
        yield _typed("v1", "Node", node_without(node))
    services = [each for each in objects.resources if isinstance(each, InferenceJob)]
    current = {
        job.metadata.uid: frozenset(chain.from_iterable(hashes_by_role(job).values()))
        for job in services
    }
    for pod in objects.pods:
        own = current.get(named_job(pod), frozenset())
        yield _typed("v1", "Pod", pod_without(pod, own))
    for priority_class in objects.priority_classes:
        yield _typed("scheduling.k8s.io/v1", "PriorityClass", priority_class)
    for budget in objects.budgets:
        yield _typed("policy/v1", "PodDisruptionBudget", budget)
    jobs = (each for each in objects.resources if isinstance(each, Job))
    claims = {claim for job in jobs for claim in claims_of_job(job)}
    for volume in objects.volumes:
        if claim_of(volume) in claims:
            yield _typed("v1", "PersistentVolume", volume_without(volume))


def _typed(version: str, kind: str, content: KubeObject) -> bytes:
    """An object with its kind and apiVersion, which objects in lists lack."""
    return f'{{"apiVersion":"{version}","kind":"{kind}",'.encode() + _encode(content)[1:]
