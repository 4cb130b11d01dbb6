"""What limit is wanted of a node's GPUs, and what limit do they have? By the node's annotations.

The operator writes the first, the agent on the node the others. Nothing else is remembered of caps,
so an operator that starts anew finds them as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.kube.objects.objects import Node
from plimsoll.observe.whole_numbers import whole_number

CAP: Final = "plimsoll.dev/power-cap-watts"
"""The limit that is wanted of each GPU of the node, in watts; absent: their own."""
CAP_TIME: Final = "plimsoll.dev/power-cap-time"
"""When that was last changed, RFC 3339."""
LIMIT: Final = "plimsoll.dev/power-limit-watts"
"""The limits that the agent read back, in watts by GPU index, such as `300,300`."""
PROBLEM: Final = "plimsoll.dev/power-limit-problem"
"""Why a limit was refused or could not be set, as the agent says."""
SILENT: Final = "the operator has been silent"
"""How a problem begins that is none any more once an operator is there to read it."""
KEPT_WITHIN: Final = timedelta(seconds=10)
"""A limit that is not set after so long is not to be counted on; agents take a second or two."""


@dataclass(frozen=True, slots=True)
class PowerLimits:
    """What a node's annotations say of its GPUs' limits, in watts; what is no number is absent.

    `changed_at`: when the operator last changed `wanted`. `reported` are the limits of the GPUs
    that answered, () where no agent has said anything.
    """

    wanted: int | None = None
    changed_at: datetime | None = None
    reported: tuple[int, ...] = ()
    problem: str = ""

    @property
    def is_applied(self) -> bool:
        """Whether each GPU is limited as wanted, by what the agent read back.

        What the GPUs' own limit is, nobody says here: a cap that was taken back counts as applied.
        """
        if self.problem or self.wanted is None:
            return not self.problem
        return bool(self.reported) and max(self.reported) <= self.wanted

    def is_kept(self, now: datetime) -> bool:
        """Whether the node can be counted on: it does as it was told, or may yet do so."""
        if self.problem.startswith(SILENT):
            return True
        is_new = self.changed_at is not None and now - self.changed_at < KEPT_WITHIN
        return not self.problem and (self.is_applied or is_new)


NO_LIMITS: Final = PowerLimits()


def power_limits(node: Node) -> PowerLimits:
    """What a node's annotations say."""
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
