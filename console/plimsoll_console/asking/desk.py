"""Answers questions in processes of their own: so many at a time, one for each user, in time.

Whoever asks too much waits for nobody but themselves, and neither the page nor other viewers wait
for an answer.
"""

import asyncio
import multiprocessing
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, TypeVar

from pebble import ProcessExpired, ProcessPool

from plimsoll.observe.snapshot import JobName
from plimsoll.vocabulary import logs
from plimsoll_console.asking.answers import explained, loaded, simulated, starts
from plimsoll_console.asking.edits import edited
from plimsoll_console.asking.parcel import wrapped
from plimsoll_console.cluster.feed import Seen
from plimsoll_console.errors import AskedTooOften, NothingThere, TooHard
from plimsoll_console.messages.questions import ExplainRequest, Explanation, WhatIf, WhatIfRequest
from plimsoll_console.views.redaction import redacted_simulation, redacted_why
from plimsoll_console.views.sight import Sight

T = TypeVar("T")
MOST_WAITING: Final = 16
SEARCH_SECONDS: Final = 2.0
"""How long each plan of an answer is searched for, in deterministic time."""
_log = logs.logger(__name__)


class Desk:
    """Takes questions until closed."""

    def __init__(self, *, at_once: int, seconds: float) -> None:
        self._seconds = seconds
        self._pool = ProcessPool(max_workers=at_once, context=multiprocessing.get_context("spawn"))
        self._busy: set[str] = set()

    def warm_up(self) -> None:
        """Load all code now, so that the first who asks need not wait for it."""
        self._pool.schedule(loaded)

    async def explain(
        self, user: str, seen: Seen, sight: Sight, asked: ExplainRequest
    ) -> Explanation:
        """Why a job that the user may see waits. Raises AskRefused."""
        name = f"{asked.kind}/{asked.namespace}/{asked.name}"
        with self._one_of(user):
            why = await self._answer(seen, explained, name)
        if why is None:
            raise NothingThere(f"{name} has ended, so there is nothing to explain")
        shown, hidden = redacted_why(sight, why)
        return Explanation(seen.snapshot.now, str(seen.number), seen.stale_since, shown, hidden)

    async def what_if(self, user: str, seen: Seen, sight: Sight, asked: WhatIfRequest) -> WhatIf:
        """What would change if a job that the user may see were different. Raises AskRefused."""
        name = f"{asked.kind}/{asked.namespace}/{asked.name}"
        view = next((each for each in sight.snapshot.jobs if each.name == name), None)
        if view is None:
            raise NothingThere(f"there is no {name}, or you may not see it")
        # The resource of a view may have been completed for planning; the user edits their own.
        job = next(each for each in seen.objects.resources if each.metadata.uid == view.uid)
        changed = edited(job, asked)  # pyright: ignore[reportArgumentType]
        with self._one_of(user):
            found = await self._answer(seen, simulated, changed)
        shown, hidden, lost = redacted_simulation(sight, found)
        return WhatIf(seen.snapshot.now, str(seen.number), seen.stale_since, shown, hidden, lost)

    async def starts(self, seen: Seen, names: Sequence[JobName]) -> dict[JobName, datetime]:
        """When jobs that wait are expected to start. Raises TooHard."""
        return await self._answer(seen, starts, names)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._pool.stop()
        self._pool.join()

    @contextmanager
    def _one_of(self, user: str) -> Generator[None]:
        if user in self._busy:
            raise AskedTooOften("you have asked already: wait for that answer")
        if len(self._busy) >= MOST_WAITING:
            raise AskedTooOften("too many questions wait for an answer: try again later")
        self._busy.add(user)
        try:
            yield
        finally:
            self._busy.discard(user)

    async def _answer(self, seen: Seen, answer: Callable[..., T], about: Any) -> T:  # noqa: ANN401 - what it is about
        parcel = await asyncio.to_thread(wrapped, seen.objects)
        args = (parcel, seen.snapshot.now, about, SEARCH_SECONDS)
        future = self._pool.schedule(answer, args=args, timeout=self._seconds)
        try:
            return await asyncio.wrap_future(future)
        except TooLate as error:
            text = f"no answer was found within {self._seconds:g} s: the cluster is too large"
            raise TooHard(text) from error
        except ProcessExpired as error:
            _log.warning("an answer was given up", error=repr(error))
            raise TooHard("the process that looked for an answer died: try again") from error
