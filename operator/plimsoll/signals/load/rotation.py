"""How services are asked about in turn, so that no namespace keeps another's waiting.

Of each namespace a few are asked about at a time, of all together some more, one after the other.
What users ask for themselves is bounded by a budget for each namespace. Where queries of one
namespace get no answer, no more of it are asked this time; where nobody's do, none at all.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.measured.sample import Answer, NoAnswer, Outcome, Query, Span
from plimsoll.signals.prometheus.prometheus import Prometheus
from plimsoll.signals.prometheus.query_budget import Allowance, QueryBudget

AT_ONCE: Final = 4
"""So many jobs are asked about at a time."""
AT_ONCE_OF_ONE: Final = 2
"""So many of one namespace."""
UNREACHABLE_AFTER: Final = 3
"""After so many queries in a row without an answer no more are asked this time."""
NEVER: Final = datetime.min.replace(tzinfo=UTC)
Ask = Callable[[InferenceJob], Awaitable[None]]


class LoadAsking:
    """Asks for one look after the other."""

    def __init__(self, prometheus: Prometheus, allowed: Allowance) -> None:
        self._prometheus = prometheus
        self._budget = QueryBudget(allowed)
        self._silence: dict[str, datetime] = {}
        self._postponed: dict[str, datetime] = {}
        self._failures: Counter[str] = Counter()
        self._is_answered = False

    def begin(self) -> None:
        """Begin another look."""
        self._budget.begin()
        self._failures.clear()
        self._is_answered = False

    async def of_all(self, jobs: Iterable[InferenceJob], ask: Ask) -> None:
        """Ask about all jobs, namespaces in turn."""
        gate, queues = asyncio.Semaphore(AT_ONCE), defaultdict[str, list[InferenceJob]](list)
        for job in sorted(jobs, key=self._turn):
            queues[job.metadata.namespace].append(job)
        turns = [iter(queue) for queue in queues.values()]
        await asyncio.gather(
            *(_one_by_one(turn, gate, ask) for turn in turns for _ in range(AT_ONCE_OF_ONE))
        )

    def _turn(self, job: InferenceJob) -> tuple[datetime, bool, datetime]:
        """Who was kept waiting in vain goes last, so that whether anybody answers shows before.

        Who had to wait for others of its namespace goes first, the longest first.
        """
        uid = job.metadata.uid
        since = self._postponed.get(uid)
        return self._silence.get(uid, NEVER), since is None, since or NEVER

    async def default(self, job: InferenceJob, query: Query, now: datetime) -> Answer | NoAnswer:
        """The answer to what is asked of every service."""
        if self._is_silent(job.metadata.namespace):
            return NoAnswer(Outcome.UNAVAILABLE, "it gave none for other services just now")
        answer = await self._prometheus.now(query)
        self._note(job, answer, now)
        return answer

    async def own(self, job: InferenceJob, query: Query, now: datetime) -> Answer | NoAnswer:
        """The answer to what the user asks, as long as the namespace has something left."""
        namespace, uid = job.metadata.namespace, job.metadata.uid
        excess = self._budget.excess(namespace)
        if excess:
            self._postponed.setdefault(uid, now)
            return NoAnswer(Outcome.POSTPONED, excess)
        self._budget.ask(namespace)
        started = time.monotonic()
        answer = await self.default(job, query, now)
        self._budget.spend(namespace, time.monotonic() - started, answer)
        self._postponed.pop(uid, None)
        return answer

    async def past(self, job: InferenceJob, query: Query, span: Span) -> Answer | NoAnswer:
        """The answer to what something was."""
        namespace, started = job.metadata.namespace, time.monotonic()
        self._budget.ask(namespace)
        answer = await self._prometheus.over(query, span)
        self._budget.spend(namespace, time.monotonic() - started, answer)
        return answer

    def first_of_all(self, jobs: Iterable[InferenceJob]) -> InferenceJob | None:
        """One of a namespace whose queries took least so far; None where all took too much."""
        left = (job for job in jobs if not self._budget.excess(job.metadata.namespace))
        spent = self._budget.seconds_spent
        return min(left, key=lambda job: spent(job.metadata.namespace), default=None)

    def forget_others(self, uids: Iterable[str]) -> None:
        """Forget all jobs but these."""
        kept = set(uids)
        self._silence = {uid: at for uid, at in self._silence.items() if uid in kept}
        self._postponed = {uid: at for uid, at in self._postponed.items() if uid in kept}

    def _is_silent(self, namespace: str) -> bool:
        silent = not self._is_answered and self._failures.total() >= UNREACHABLE_AFTER
        return silent or self._failures[namespace] >= UNREACHABLE_AFTER

    def _note(self, job: InferenceJob, answer: Answer | NoAnswer, now: datetime) -> None:
        namespace = job.metadata.namespace
        if isinstance(answer, NoAnswer) and answer.outcome is Outcome.UNAVAILABLE:
            self._failures[namespace] += 1
            self._silence[job.metadata.uid] = now
        else:
            self._failures[namespace], self._is_answered = 0, True


async def _one_by_one(turn: Iterator[InferenceJob], gate: asyncio.Semaphore, ask: Ask) -> None:
    """Ask about the jobs of a namespace that nobody else has asked about yet.

    The gate lets those through first that have waited longest, so that namespaces take turns.
    """
    for job in turn:
        async with gate:
            await ask(job)
