"""Pods of a gang that run and are not ready: until they are, the gang has not started.

Most are soon, and one that never is may well train: it is said, and nothing else follows from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.observe.snapshot import PodView

NOT_READY: Final = "runs, but is not ready"
TOLD_AFTER: Final = timedelta(minutes=1)
"""How long after a pod's start it is said that it is not ready."""


@dataclass(frozen=True, slots=True)
class Unready:
    """What to say from `told_at` on of pods with these names."""

    told_at: datetime
    names: tuple[str, ...]
    message: str

    def is_said_by(self, message: str) -> bool:
        """Whether a message already says so of one of them."""
        return any(message.startswith(f"{name} on ") for name in self.names)


def unready_among(pods: Iterable[PodView]) -> Unready | None:
    """The pods that run and are not ready; None if there are none."""
    found = sorted(filter(_is_unready, pods), key=lambda pod: pod.name)
    times = [at for pod in found if (at := pod.started or pod.created) is not None]
    if not times:
        return None
    more = len(found) - 1
    others = f", nor {'is' if more == 1 else 'are'} {more} more" if more else ""
    message = (
        f"{found[0].name} on {found[0].node} {NOT_READY}{others}: if that"
        " lasts, check its logs and its readiness probe"
    )
    return Unready(min(times) + TOLD_AFTER, tuple(pod.name for pod in found), message)


def _is_unready(pod: PodView) -> bool:
    return pod.phase == "Running" and pod.wait is None and not (pod.ready or pod.deleting)
