"""Decide whether a job may use the queue it names, by the namespaces that the queue admits.

A queue's list of PriorityClasses also limits how urgent its jobs may be: a job not entitled to its
priority must not preempt anything, not even until a quota refuses its pods.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.api.values import label_selector
from plimsoll.kube.objects.objects import LabelSelector, LabelSelectorRequirement, PriorityClass
from plimsoll.observe.eligibility.selectors import matches
from plimsoll.observe.labels import QUEUE
from plimsoll.vocabulary.reasons import Reason

DEFAULT_QUEUE = "default"
"""The queue of jobs that name none; it need not exist, and then admits all."""
NO_QUEUE = "(none)"
"""The queue of a running job that is in none: it has no share, and no limit applies to it."""
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server gives each namespace."""
_BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job may not use the queue or the PriorityClass that its spec names."""

    reason: Reason
    message: str


class _Fields(NamedTuple):
    """Where its owner says a job's queue and priority."""

    queue: str
    priority: str


_OF_SPECS: Final = _Fields("spec.queue", "spec.priorityClassName")
_OF_WORKLOADS: Final = _Fields(f"the label {QUEUE}", "priorityClassName of the pod template")


class QueueAccess:
    """Who may use which queue at which priority, by the current queues, namespaces and classes."""

    def __init__(
        self,
        queues: Iterable[JobQueue],
        namespaces: Mapping[str, Mapping[str, str]],
        classes: Iterable[PriorityClass],
    ) -> None:
        self._queues = {queue.metadata.name: queue for queue in queues}
        self._namespaces = namespaces
        self._priorities = dict(_BUILT_IN)
        self._default_priority = 0
        for each in classes:
            self._priorities[each.metadata.name] = each.value
            if each.global_default:
                self._default_priority = each.value
        self._known: dict[tuple[str, str, str | None, _Fields], Refusal | None] = {}

    def priority(self, name: str | None) -> int | None:
        """A class's priority, or the cluster's default without one; None: no such class exists."""
        return self._default_priority if name is None else self._priorities.get(name)

    def refusal(self, job: Job) -> Refusal | None:
        """Why a job may not use what its spec names; None if it may."""
        spec = job.spec
        key = job.metadata.namespace, spec.queue, spec.priority_class_name, _fields(job)
        if key not in self._known:
            self._known[key] = self._refusal(*key)
        return self._known[key]

    def _refusal(
        self, namespace: str, name: str, priority_class: str | None, fields: _Fields
    ) -> Refusal | None:
        if self.priority(priority_class) is None:
            return _no_class(priority_class, fields)
        queue = self._queues.get(name)
        if queue is None:
            return None if name == DEFAULT_QUEUE else _no_queue(name, fields)
        selector = queue.spec.namespace_selector
        if selector is not None and not selects(selector, self._labels(namespace)):
            return _closed(name, namespace)
        return _too_urgent(queue, priority_class, fields)

    def _labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; for an unknown one, only its name."""
        return {**self._namespaces.get(namespace, {}), NAMESPACE_NAME: namespace}


def selects(selector: label_selector.LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a selector selects an object with these labels."""
    wanted = tuple(
        LabelSelectorRequirement(each.key, each.operator, each.values)
        for each in selector.match_expressions
    )
    return matches(LabelSelector(selector.match_labels, wanted), labels)


def _fields(job: Job) -> _Fields:
    is_stand_in = isinstance(job, TrainingJob) and job.spec.workload_ref is not None
    return _OF_WORKLOADS if is_stand_in else _OF_SPECS


def _no_class(name: str | None, fields: _Fields) -> Refusal:
    text = f"there is no PriorityClass {name}: create it, or change {fields.priority}"
    return Refusal(Reason.PRIORITY_CLASS_NOT_FOUND, text)


def _no_queue(name: str, fields: _Fields) -> Refusal:
    text = f"there is no JobQueue {name}: create it, or change {fields.queue}"
    return Refusal(Reason.QUEUE_NOT_FOUND, text)


def _closed(name: str, namespace: str) -> Refusal:
    return Refusal(
        Reason.QUEUE_NOT_ALLOWED,
        f"queue {name} takes no jobs of namespace {namespace}: its namespaceSelector does not"
        " select it; use another queue, or have the selector or the namespace's labels changed",
    )


def _too_urgent(queue: JobQueue, name: str | None, fields: _Fields) -> Refusal | None:
    """Why a job may not have the priority that it names in a queue that admits it."""
    allowed = queue.spec.priority_class_names
    if name is None or allowed is None or name in allowed:
        return None
    listed = f"only {', '.join(allowed)}" if allowed else "nor any other"
    return Refusal(
        Reason.PRIORITY_NOT_ALLOWED,
        f"queue {queue.metadata.name} allows its jobs no PriorityClass {name}, {listed}: change"
        f" {fields.priority} or leave it out, or have priorityClassNames of the queue changed",
    )
