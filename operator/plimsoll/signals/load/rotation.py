"""Query the loads of services in turn, so that no namespace keeps another's waiting.

A few jobs of each namespace are queried at a time, somewhat more over all namespaces. Users' own
queries are bounded by a budget per namespace. If one namespace's queries get no result, it is
skipped for the rest of this round; if nobody's do, the round ends.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, Protocol

from plimsoll.api.inference_job import InferenceJob
from plimsoll.clock import SYSTEM, Clock
from plimsoll.observe.measured.sample import NoResult, Outcome, Query, QueryResult, Span
from plimsoll.signals.prometheus.query_budget import Allowance, QueryBudget

AT_ONCE: Final = 4
"""How many jobs are queried at a time."""
AT_ONCE_OF_ONE: Final = 2
"""How many of one namespace."""
UNREACHABLE_AFTER: Final = 3
"""After this many unanswered queries in a row, the round ends."""
NEVER: Final = datetime.min.replace(tzinfo=UTC)
Ask = Callable[[InferenceJob], Awaitable[None]]


class Source(Protocol):
    """What answers queries, and never fails: Prometheus."""

    async def now(self, query: Query, /) -> QueryResult | NoResult:
        """The result of an instant query now."""
        ...

    async def over(self, query: Query, span: Span, /) -> QueryResult | NoResult:
        """The results of a range query over a time span."""
        ...


class LoadAsking:
    """Runs one round of queries after the other."""

    def __init__(self, source: Source, allowed: Allowance, clock: Clock = SYSTEM) -> None:
        self._source, self._clock = source, clock
        self._budget = QueryBudget(allowed)
        self._silence: dict[str, datetime] = {}
        self._postponed: dict[str, datetime] = {}
        self._failures: Counter[str] = Counter()
        self._has_responded = False

    def begin(self) -> None:
        """Begin another round."""
        self._budget.begin()
        self._failures.clear()
        self._has_responded = False

    async def of_all(self, jobs: Iterable[InferenceJob], ask: Ask) -> None:
        """Query all jobs, namespaces in turn."""
        gate, queues = asyncio.Semaphore(AT_ONCE), defaultdict[str, list[InferenceJob]](list)
        for job in sorted(jobs, key=self._turn):
            queues[job.metadata.namespace].append(job)
        turns = [iter(queue) for queue in queues.values()]
        await asyncio.gather(
            *(_one_by_one(turn, gate, ask) for turn in turns for _ in range(AT_ONCE_OF_ONE))
        )

    def _turn(self, job: InferenceJob) -> tuple[datetime, bool, datetime]:
        """Namespaces that waited in vain go last, so that it shows first whether anything responds.

        Jobs that had to wait for others of their namespace go first, the longest first.
        """
        uid = job.metadata.uid
        since = self._postponed.get(uid)
        return self._silence.get(uid, NEVER), since is None, since or NEVER

    async def default(
        self, job: InferenceJob, query: Query, now: datetime
    ) -> QueryResult | NoResult:
        """The result of the default query of every service."""
        if self._is_silent(job.metadata.namespace):
            return NoResult(Outcome.UNAVAILABLE, "it gave none for other services just now")
        result = await self._source.now(query)
        self._note(job, result, now)
        return result

    async def own(self, job: InferenceJob, query: Query, now: datetime) -> QueryResult | NoResult:
        """The result of a user's query, while the namespace's budget lasts."""
        namespace, uid = job.metadata.namespace, job.metadata.uid
        excess = self._budget.excess(namespace)
        if excess:
            self._postponed.setdefault(uid, now)
            return NoResult(Outcome.POSTPONED, excess)
        self._budget.count(namespace)
        started = self._clock.monotonic()
        result = await self.default(job, query, now)
        self._budget.spend(namespace, self._clock.monotonic() - started, result)
        self._postponed.pop(uid, None)
        return result

    async def past(self, job: InferenceJob, query: Query, span: Span) -> QueryResult | NoResult:
        """The result of a query of the past."""
        namespace, started = job.metadata.namespace, self._clock.monotonic()
        self._budget.count(namespace)
        result = await self._source.over(query, span)
        self._budget.spend(namespace, self._clock.monotonic() - started, result)
        return result

    def affordable(self, jobs: Iterable[InferenceJob]) -> list[InferenceJob]:
        """Those whose namespace may send more queries in this round."""
        return [job for job in jobs if not self._budget.excess(job.metadata.namespace)]

    def first_of_all(self, jobs: Iterable[InferenceJob]) -> InferenceJob | None:
        """The item whose namespace has used least so far; None if all are over budget."""
        spent = self._budget.seconds_spent
        return min(
            self.affordable(jobs), key=lambda job: spent(job.metadata.namespace), default=None
        )

    def forget_others(self, uids: Iterable[str]) -> None:
        """Forget all jobs but these."""
        kept = set(uids)
        self._silence = {uid: at for uid, at in self._silence.items() if uid in kept}
        self._postponed = {uid: at for uid, at in self._postponed.items() if uid in kept}

    def _is_silent(self, namespace: str) -> bool:
        silent = not self._has_responded and self._failures.total() >= UNREACHABLE_AFTER
        return silent or self._failures[namespace] >= UNREACHABLE_AFTER

    def _note(self, job: InferenceJob, result: QueryResult | NoResult, now: datetime) -> None:
        namespace = job.metadata.namespace
        if isinstance(result, NoResult) and result.outcome is Outcome.UNAVAILABLE:
            self._failures[namespace] += 1
            self._silence[job.metadata.uid] = now
        else:
            self._failures[namespace], self._has_responded = 0, True


async def _one_by_one(turn: Iterator[InferenceJob], gate: asyncio.Semaphore, ask: Ask) -> None:
    """Query the jobs of a namespace that no other task has taken yet.

    The gate admits those first that have waited longest, so that namespaces take turns.
    """
    for job in turn:
        async with gate:
            await ask(job)
