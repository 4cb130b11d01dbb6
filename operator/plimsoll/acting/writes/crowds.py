"""Tell of many objects to which the same happened at once by one event about their namespace.

Whoever may see the objects may see that one, and nobody else. Each object says of itself what its
own event would.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.vocabulary.reasons import Reason

TOLD_ALONE: Final = 10
"""How many objects of one crowd have an event each within a window; none while it lasts on."""
WINDOW_SECONDS: Final = 10.0
MOST_NAMED: Final = 3
Later = Callable[[Callable[[], None]], object]
"""Calls something once a window is over."""


def after_a_window(close: Callable[[], None]) -> None:
    """Call something when a window that begins now is over."""
    asyncio.get_running_loop().call_later(WINDOW_SECONDS, close)


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
    """How many more have an event each, and of those without one how many there are, and which."""

    alone: int
    count: int = 0
    first: list[One] = field(default_factory=list[One])


class Crowds:
    """Records what happens to the objects of crowds, always for the same reason.

    `text` says what happened to so many of a crowd, given their queue and some of their names.
    """

    def __init__(
        self,
        events: EventRecorder,
        reason: Reason,
        text: Callable[[int, str, str], str],
        later: Later = after_a_window,
    ) -> None:
        self._events, self._reason, self._text, self._later = events, reason, text, later
        self._windows: dict[Crowd, _Window] = {}

    def say(self, crowd: Crowd, one: One) -> None:
        """Record what happened to one of a crowd; among many, with the others a little later."""
        window = self._windows.get(crowd) or self._open(crowd, alone=TOLD_ALONE)
        if window.alone:
            window.alone -= 1
            self._record(one)
            return
        window.count += 1
        if len(window.first) <= MOST_NAMED:
            window.first.append(one)

    def _open(self, crowd: Crowd, *, alone: int) -> _Window:
        window = self._windows[crowd] = _Window(alone)
        self._later(partial(self._close, crowd))
        return window

    def _close(self, crowd: Crowd) -> None:
        """Tell of those of a window that have not been told of."""
        window = self._windows.pop(crowd)
        if len(window.first) <= MOST_NAMED:
            for one in window.first:
                self._record(one)
            return
        names = ", ".join(one.name for one in window.first[:MOST_NAMED])
        some = f"{names} and {window.count - MOST_NAMED} more"
        text = self._text(window.count, crowd.queue, some)
        subject = Subject("v1", "Namespace", crowd.namespace, "", crowd.namespace)
        self._events.record(Saying(subject, self._reason, text))
        self._open(crowd, alone=0)

    def _record(self, one: One) -> None:
        for saying in one.sayings:
            self._events.record(saying)
