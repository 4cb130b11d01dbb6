"""Tell by the marks on an object whether Kueue manages it.

Kueue labels what it manages, and its pods' templates; pods wait behind its scheduling gates. Owners
and pods carry the same marks as the workload, so one function serves all. A Job without a queue
bears no mark even if Kueue, by `manageJobsWithoutQueueName`, suspends it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

_GROUP: Final = "kueue.x-k8s.io"
_LABELS: Final = (f"{_GROUP}/queue-name", f"{_GROUP}/managed")
_PREFIX: Final = f"{_GROUP}/"


def left_to_kueue(
    what: str, labels: Mapping[str, str], *, gates: Iterable[str] = (), managed_by: str = ""
) -> str | None:
    """Why an object is left to Kueue, and the remedy, in a sentence; None if Kueue has no part.

    `what` names the object in the sentence, `gates` are the names of a pod's scheduling gates and
    `managed_by` is a workload's `spec.managedBy`.
    """
    mark = _mark(labels, gates, managed_by)
    if mark is None:
        return None
    # Kueue's webhooks refuse to take a label off what runs.
    return f"{what} has {mark}, so Kueue manages it: leave it to Kueue, or create it without that"


def is_mark(label: str) -> bool:
    """Whether a label is one of those that Kueue puts on what it manages."""
    return label in _LABELS


def _mark(labels: Mapping[str, str], gates: Iterable[str], managed_by: str) -> str | None:
    """What says so; any value of a label counts, for Kueue defaults empty ones."""
    label = next((each for each in _LABELS if each in labels), None)
    if label is not None:
        return f"the label {label}"
    gate = next((each for each in gates if each.startswith(_PREFIX)), None)
    if gate is not None:
        return f"the scheduling gate {gate}"
    return f"spec.managedBy {managed_by}" if managed_by.startswith(_PREFIX) else None
