"""PriorityClasses of WorkloadPriorityClasses."""

from collections.abc import Mapping
from typing import Any, Final

from plimsoll.cli.importing.kueue.objects import WorkloadPriorityClass
from plimsoll.cli.importing.notes import Note, note

Raw = dict[str, Any]
_HIGHEST: Final = 1_000_000_000
"""What Kubernetes allows users; higher ones are its own."""
_RESERVED: Final = "system-"


def priority_class(each: WorkloadPriorityClass) -> Raw:
    """The manifest of a PriorityClass. Kube-scheduler must not evict pods for it: plans decide."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": each.metadata.name},
        "value": each.value,
        "preemptionPolicy": "Never",
        **({"description": each.description} if each.description else {}),
    }


def priority_note(each: WorkloadPriorityClass, existing: Mapping[str, int]) -> Note | None:
    """Why it becomes no PriorityClass; None if it becomes one, or there is one just like it."""
    name, value = each.metadata.name, each.value
    if name in existing and existing[name] != value:
        text = f"metadata.name: there is a PriorityClass {name} of {existing[name]}, not {value}"
        return note(each, f"{text}: rename it, and let jobs name the other")
    if name.startswith(_RESERVED):
        return note(each, f"metadata.name: {_RESERVED} is Kubernetes' own prefix: rename it")
    if not -(2**31) <= value <= _HIGHEST:
        return note(each, f"value: must be at most {_HIGHEST}: it is {value}: lower it")
    return None
