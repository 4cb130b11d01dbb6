"""Tell of many objects to which the same happened at once by one event about their namespace.

Whoever may see the objects may see that one, and nobody else. Each object says of itself what its
own event would.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.vocabulary.reasons import Reason

TOLD_ALONE: Final = 10
"""How many objects of one crowd have an event each within a window."""
WINDOW_SECONDS: Final = 10.0
MOST_NAMED: Final = 3


class Crowd(NamedTuple):
    """Objects that are told of together."""

    namespace: str
    queue: str


@dataclass(frozen=True, slots=True)
class One:
    """What happened to one of a crowd, and the events that it has if it is told of alone."""

    name: str
    sayings: Sequence[Saying]


@dataclass(slots=True)
class _Window:
    """How many there were within a window, and the first of those without an event."""

    count: int = 0
    untold: list[One] = field(default_factory=list[One])


class Crowds:
    """Records what happens to the objects of crowds, always for the same reason.

    `text` says what happened to so many of a crowd, given their queue and some of their names.
    """

    def __init__(
        self,
        events: EventRecorder,
        reason: Reason,
        text: Callable[[int, str, str], str],
        *,
        window_seconds: float = WINDOW_SECONDS,
    ) -> None:
        self._events, self._reason, self._text = events, reason, text
        self._window_seconds = window_seconds
        self._windows: dict[Crowd, _Window] = {}

    def say(self, crowd: Crowd, one: One) -> None:
        """Record what happened to one of a crowd; among many, with the others a little later."""
        window = self._windows.get(crowd)
        if window is None:
            window = self._windows[crowd] = _Window()
            asyncio.get_running_loop().call_later(self._window_seconds, self._tell, crowd)
        window.count += 1
        if window.count <= TOLD_ALONE:
            self._record(one)
        elif len(window.untold) <= MOST_NAMED:
            window.untold.append(one)

    def _tell(self, crowd: Crowd) -> None:
        """Tell of those of a window that have not been told of."""
        window = self._windows.pop(crowd)
        untold, count = window.untold, window.count - TOLD_ALONE
        if len(untold) <= MOST_NAMED:
            for one in untold:
                self._record(one)
            return
        names = ", ".join(one.name for one in untold[:MOST_NAMED])
        some = f"{names} and {count - MOST_NAMED} more"
        subject = Subject("v1", "Namespace", crowd.namespace, "", crowd.namespace)
        self._events.record(Saying(subject, self._reason, self._text(count, crowd.queue, some)))

    def _record(self, one: One) -> None:
        for saying in one.sayings:
            self._events.record(saying)
