"""The wanted and actual power limits of a node's GPUs, by the node's annotations.

The operator writes the first, the agent on the node the others. Nothing else is remembered about
caps, so a restarted operator finds them as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.kube.objects.objects import Node
from plimsoll.observe.whole_numbers import whole_number

CAP: Final = "plimsoll.dev/power-cap-watts"
"""The wanted limit of each GPU of the node, in watts; absent: the GPUs' default."""
CAP_TIME: Final = "plimsoll.dev/power-cap-time"
"""When the wanted limit last changed, RFC 3339."""
LIMIT: Final = "plimsoll.dev/power-limit-watts"
"""The limits that the agent read back, in watts by GPU index, such as `300,300`."""
PROBLEM: Final = "plimsoll.dev/power-limit-problem"
"""Why a limit was refused or could not be set, as the agent says."""
SILENT: Final = "the operator has been silent"
"""How a problem begins that disappears as soon as an operator is there to read it."""
KEPT_WITHIN: Final = timedelta(seconds=10)
"""A limit not set after this time cannot be relied on; agents take a second or two."""


@dataclass(frozen=True, slots=True)
class PowerLimits:
    """A node's annotations about its GPUs' limits, in watts; values that are no numbers are absent.

    `changed_at`: when the operator last changed `wanted`. `reported` are the limits of the GPUs
    that responded, () if no agent has reported.
    """

    wanted: int | None = None
    changed_at: datetime | None = None
    reported: tuple[int, ...] = ()
    problem: str = ""

    @property
    def is_applied(self) -> bool:
        """Whether each GPU is limited as wanted, by what the agent read back.

        The GPUs' default limit is not known here, so a withdrawn cap counts as applied.
        """
        if self.problem or self.wanted is None:
            return not self.problem
        return bool(self.reported) and max(self.reported) <= self.wanted

    def is_kept(self, now: datetime) -> bool:
        """Whether the node can be relied on: it keeps its limit, or may yet do so in time."""
        if self.problem.startswith(SILENT):
            return True
        is_new = self.changed_at is not None and now - self.changed_at < KEPT_WITHIN
        return not self.problem and (self.is_applied or is_new)


NO_LIMITS: Final = PowerLimits()


def power_limits(node: Node) -> PowerLimits:
    """Parse a node's annotations."""
    notes = node.metadata.annotations
    if not any(name in notes for name in (CAP, CAP_TIME, LIMIT, PROBLEM)):
        return NO_LIMITS
    return PowerLimits(
        _watts(notes.get(CAP, "")),
        _moment(notes),
        _each(notes.get(LIMIT, "")),
        notes.get(PROBLEM, ""),
    )


def _watts(text: str) -> int | None:
    return whole_number(text) or None


def _each(text: str) -> tuple[int, ...]:
    watts = (_watts(part.strip()) for part in text.split(","))
    return tuple(each for each in watts if each is not None)


def _moment(notes: Mapping[str, str]) -> datetime | None:
    try:
        at = datetime.fromisoformat(notes.get(CAP_TIME, ""))
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
