"""May a job use the queue that it names? Whose jobs a queue takes is said by its namespaces.

And how urgent they may be by the PriorityClasses that it lists: a job that may not have its
priority must take nobody's place, not even until its pods are refused by a quota.
"""

from collections.abc import Mapping

from plimsoll.api import label_selector
from plimsoll.api.job_queue import JobQueue
from plimsoll.kube.objects import LabelSelector, LabelSelectorRequirement
from plimsoll.observe.selectors import matches
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.telemetry import Reason

DEFAULT_QUEUE = "default"
"""The queue of jobs that name none; it need not be there, and then takes all."""
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server gives each namespace."""


def queue_refusal(view: JobView, snapshot: Snapshot) -> Hold | None:
    """Why a job may not be admitted to its queue, None where it may."""
    name = view.resource.spec.queue
    queue = next((each for each in snapshot.queues if each.metadata.name == name), None)
    if queue is None:
        return None if name == DEFAULT_QUEUE else _missing(view, name)
    namespace = view.resource.metadata.namespace
    selector = queue.spec.namespace_selector
    if selector is None or selects(selector, _labels(namespace, snapshot)):
        return _too_urgent(view, queue)
    return Hold(
        view.name,
        Reason.QUEUE_NOT_ALLOWED,
        f"queue {name} takes no jobs of namespace {namespace}: its namespaceSelector does not"
        " select it; use another queue, or have the selector or the namespace's labels changed",
        hopeless=True,
    )


def _too_urgent(view: JobView, queue: JobQueue) -> Hold | None:
    """Why a job may not have the priority that it names in a queue that takes it."""
    name, allowed = view.resource.spec.priority_class_name, queue.spec.priority_class_names
    if name is None or allowed is None or name in allowed:
        return None
    listed = f"only {', '.join(allowed)}" if allowed else "none"
    return Hold(
        view.name,
        Reason.PRIORITY_NOT_ALLOWED,
        f"queue {queue.metadata.name} allows its jobs no PriorityClass {name}, {listed}: change"
        " spec.priorityClassName or leave it out, or have priorityClassNames of the queue changed",
        hopeless=True,
    )


def selects(selector: label_selector.LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a selector means an object with these labels."""
    wanted = tuple(
        LabelSelectorRequirement(each.key, each.operator, each.values)
        for each in selector.match_expressions
    )
    return matches(LabelSelector(selector.match_labels, wanted), labels)


def _missing(view: JobView, queue: str) -> Hold:
    text = f"there is no JobQueue {queue}: create it, or change spec.queue"
    return Hold(view.name, Reason.QUEUE_NOT_FOUND, text, hopeless=True)


def _labels(namespace: str, snapshot: Snapshot) -> Mapping[str, str]:
    """The labels of a namespace; of one that is not known, only its name is."""
    known = snapshot.namespaces.get(namespace, {})
    return {**known, NAMESPACE_NAME: namespace}
