"""Whether the operator is alive, judged by changes of its Lease.

Clocks are not compared between machines: what counts is when this machine saw the Lease change. An
agent that has just started knows nothing yet, and must neither cap nor restore.
"""

from dataclasses import dataclass, replace
from enum import Enum


class Life(Enum):
    """What is known of the operator."""

    UNKNOWN = "unknown"
    ALIVE = "alive"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Sightings:
    """What has been seen of the Lease, on this machine's monotonic clock, in seconds.

    `version` is the Lease's resourceVersion, None while it did not exist.
    """

    since: float
    looked: bool = False
    version: str | None = None
    changed_at: float | None = None

    def next(self, version: str | None, now: float) -> "Sightings":
        """The sightings after one more look; a missing Lease is no sign of life."""
        if not self.looked:
            return replace(self, looked=True, version=version)
        if version is None or version == self.version:
            return self
        return replace(self, version=version, changed_at=now)

    def life(self, now: float, *, timeout_seconds: float) -> Life:
        """Whether the operator is alive, as of `now`."""
        last = self.since if self.changed_at is None else self.changed_at
        if now - last >= timeout_seconds:
            return Life.SILENT
        return Life.UNKNOWN if self.changed_at is None else Life.ALIVE
