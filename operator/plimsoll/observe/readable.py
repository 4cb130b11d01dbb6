"""Contain objects that cannot be read, so that each affects only itself.

The API server has validated them, so this is for cases that nobody foresaw.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from plimsoll.api.kinds import Job
from plimsoll.api.values.quantities import LARGEST
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.observe.eligibility.requests import Requests, effective_requests
from plimsoll.observe.labels import GPU_MEMORY
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll.observe.whole_numbers import whole_number
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

T = TypeVar("T")
_log = logs.logger(__name__)


def readable(item: Node | Pod | Job, read: Callable[[], T]) -> T | None:
    """What is read from a node, pod or job; None if that fails.

    Planning meets the same error in a job, and sets it aside.
    """
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - around one object: the others are seen
        kind, meta = type(item).__name__, item.metadata
        metrics.FAULTS.labels(kind, "Read").inc()
        name = f"{kind}/{meta.namespace}/{meta.name}"
        _log.warning("object refused", object=name, reason=Reason.INVALID_SPEC, error=repr(error))
        return None


def countable_requests(pod: Pod) -> Requests:
    """A pod's requests; everything its node has if nobody can say how much they are."""
    found = readable(pod, lambda: effective_requests(pod.spec))
    if found is None:
        return Requests(LARGEST, LARGEST)
    weights = whole_number(pod.metadata.labels.get(GPU_MEMORY, ""))
    if not weights or not any(map(is_gpu_resource, found.others)):
        return found
    return replace(found, others={**found.others, GPU_MEMORY: weights})
