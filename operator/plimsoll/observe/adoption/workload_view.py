"""An adopted workload, as its job's step sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from plimsoll.kube.objects.workload_parts import WorkloadCondition, condition_of
from plimsoll.kube.watching.workloads import Reference

Patch = dict[str, Any]
"""A JSON merge patch (RFC 7386)."""
Operation = dict[str, Any]
"""One step of a JSON patch (RFC 6902)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of how many pods at least and at most a workload's own fields allow, and what these are."""

    least: int
    most: int
    fields: str


@dataclass(frozen=True, slots=True)
class Sizing:
    """How a workload's number of pods is set: in these fields, by their paths.

    `fixed` more pods are there in any case. A path may lead through a list. `while_suspended`: a
    workload that runs does not follow. `leaving`: the path of the field that names the pods to be
    removed first; a workload that has one changes its size while it runs.
    """

    fields: tuple[tuple[str, ...], ...]
    fixed: int = 0
    bounds: Bounds | None = None
    while_suspended: bool = False
    leaving: tuple[str, ...] | None = None

    def operations(self, pods: int, leaving: Sequence[str] = ()) -> list[Operation]:
        """The JSON patch that makes so many pods of it, without those that are named."""
        found = [added(path, pods - self.fixed) for path in self.fields]
        if self.leaving is None:
            return found
        *outer, last = self.leaving
        # The object around the list may not be there.
        return [added(outer, {last: [*leaving]}), *found]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a workload ended, in its own controller's words."""

    failed: bool
    message: str


def failure(reason: str, message: str) -> Outcome:
    """That a workload has failed, with all that its controller says of it."""
    return Outcome(failed=True, message=": ".join(filter(None, (reason, message))))


def outcome_of(conditions: Sequence[WorkloadCondition], *, done: str) -> Outcome | None:
    """How a workload ended: its condition `Failed` holds, or the one that is called `done`."""
    failed, succeeded = condition_of(conditions, "Failed"), condition_of(conditions, done)
    if failed is not None:
        return failure(failed.reason, failed.message)
    return None if succeeded is None else Outcome(failed=False, message=succeeded.message)


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """The workload that a job stands for.

    `suspended`: it is to run no pods; `at_rest`: its controller has seen that, so that it may be
    resumed. It is to run `parallelism` pods with GPUs at once, and now `due`, as not so many are
    left; `beside` pods without GPUs must have found their nodes before those start. `since`: when
    it was last resumed, None if that is unknown. `failures`: how many pods have failed. `outcome`
    is None until it has ended. `sizing` is None where its size cannot be changed. `numbered_by` is
    the label that numbers its pods with GPUs from 0 on, "" without one. One that no longer `asks`
    to be planned is not resumed by its job's step. One that cannot be stopped (not `can_stop`) is
    never suspended; its pods wait behind our scheduling gate, and `suspended` is whether all do.
    """

    reference: Reference
    uid: str
    suspended: bool
    at_rest: bool
    parallelism: int
    due: int
    beside: int = 0
    since: datetime | None = None
    failures: int = 0
    outcome: Outcome | None = None
    sizing: Sizing | None = None
    numbered_by: str = ""
    asks: bool = True
    can_stop: bool = True

    @property
    def is_resized_live(self) -> bool:
        """Whether it changes its size while it runs, and lets us say which pods are to go."""
        return self.sizing is not None and self.sizing.leaving is not None


def added(path: Sequence[str], value: object) -> Operation:
    """Set a field of an object that is there."""
    return {"op": "add", "path": "/" + "/".join(path), "value": value}


def put(patch: Patch, path: Sequence[str], value: object) -> None:
    """Set a field in a merge patch."""
    *outer, last = path
    for name in outer:
        patch = patch.setdefault(name, {})
    patch[last] = value
