"""What the kubelet reports about a starting pod: what it waits for, and whether it has served."""

from datetime import datetime, timedelta
from typing import Final

from plimsoll.kube.objects.objects import ContainerStatus, Pod
from plimsoll.observe.snapshot import PodWait

ERRORS: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "CreateContainerError",
        "PreCreateHookError",
        "PreStartHookError",
        "PostStartHookError",
        "RunContainerError",
        "CreatePodSandboxError",
        "ConfigPodSandboxError",
    }
)
"""The kubelet's words for a container that it cannot start.

A container that starts and ends, as in CrashLoopBackOff, is none of these.
"""
_FIRST_WORD: Final = timedelta(seconds=10)
"""How long after a pod's start the kubelet may first report that it is not ready yet."""


def wait_of(pod: Pod) -> PodWait | None:
    """Why a container does not run, one that cannot start first; None: nothing is reported."""
    waits = [_wait(each) for each in _statuses(pod)]
    found = [wait for wait in waits if wait is not None]
    return min(found, key=lambda wait: not wait.is_error, default=None)


def prepared_at(pod: Pod) -> datetime | None:
    """When the last init container ended; no other could start before that."""
    ended = [each.state.terminated for each in pod.status.init_container_statuses]
    times = [end.finished_at for end in ended if end is not None and end.finished_at is not None]
    return max(times, default=None)


def finished_at(pod: Pod) -> datetime | None:
    """When the last container of a pod that is over ended; None if it is not, or nothing tells."""
    if pod.status.phase not in ("Succeeded", "Failed"):
        return None
    ended = [each.state.terminated for each in _statuses(pod)]
    times = [end.finished_at for end in ended if end is not None and end.finished_at is not None]
    return max(times, default=None)


def has_served(pod: Pod) -> bool:
    """Whether a pod's containers are ready, or were.

    "Not ready" is reported at the start, and again only when they cease to be ready.
    """
    conditions = pod.status.conditions
    said = next((each for each in conditions if each.type == "ContainersReady"), None)
    if said is None:
        return False
    if said.status == "True":
        return True
    since, started = said.last_transition_time, pod.status.start_time
    return since is not None and started is not None and since > started + _FIRST_WORD


def _statuses(pod: Pod) -> tuple[ContainerStatus, ...]:
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)


def _wait(status: ContainerStatus) -> PodWait | None:
    waiting = status.state.waiting
    if waiting is None:
        return None
    is_error = waiting.reason in ERRORS
    return PodWait(status.name, waiting.reason, waiting.message, is_error)
