"""Query the load of services from Prometheus at intervals; results hold until the next.

If Prometheus gives no usable result, the last one holds for as long as one look reaches back; after
that the load is unknown, which changes nothing by itself.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NoReturn, Protocol

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.roles import ANY_SIZE, Role
from plimsoll.clock import SYSTEM, Clock
from plimsoll.observe.measured.demand import JobDemand, RoleDemand
from plimsoll.observe.measured.sample import NoResult, Outcome
from plimsoll.observe.snapshot import PodView
from plimsoll.planning.serving.replicas import is_measured, role_status
from plimsoll.signals.load.capacity_book import CapacityBook
from plimsoll.signals.load.foresight.accounts import serving_now
from plimsoll.signals.load.foresight.aim import Aim
from plimsoll.signals.load.foresight.load_forecast import LoadForecast, Outlook
from plimsoll.signals.load.foresight.past import past_loads, past_span
from plimsoll.signals.load.job_reading import JobReading, job_reading
from plimsoll.signals.load.load_reading import MOST_BUCKETS, Gap, LoadResults, Loads
from plimsoll.signals.load.news import is_news
from plimsoll.signals.load.queries import default_queries, own_queries, past_query
from plimsoll.signals.load.role_pods import (
    asleep,
    drain_seconds,
    kinds_of,
    pods_by_type,
    role_pods,
)
from plimsoll.signals.load.rotation import LoadAsking, Source
from plimsoll.signals.load.servers.terms import Scope
from plimsoll.signals.load.starts import StartBook
from plimsoll.signals.prometheus.query_budget import Allowance
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs, metrics

LEARNING_SHARE: Final = 0.05
"""The share of the time that may go into fitting models to histories."""
STANDBY_SECONDS: Final = 1.0
SHORTEST_REST_SECONDS: Final = 0.5
ASLEEP_SECONDS: Final = 3.0
"""How often a service that sleeps is looked at: its first request waits for a whole start."""
ASLEEP_RESTS: Final = 9
"""These looks take a tenth of the time at most: then there is a rest of so many times as long."""
REST_BETWEEN_PASTS_SECONDS: Final = 0.2
"""Reading two weeks of a load takes some 50 ms, which the planning loop would notice."""
PAST_AGAIN: Final = timedelta(minutes=10)
"""When past loads are queried again after there was no result."""
FIRST_GAPS: Final = frozenset({Gap.NO_DATA, Gap.NO_REPLICA, Gap.PART_OF_DATA})
"""What is unknown of a new service until its first replicas have been scraped."""
_log = logs.logger(__name__)


class Services(Protocol):
    """The parts of the cluster that determine what is queried."""

    def services(self) -> Iterable[InferenceJob]:
        """The services."""
        ...

    def pods_of_services(self) -> Iterable[PodView]:
        """Their pods."""
        ...

    def node_start_time(self) -> timedelta:
        """How long replicas may have to wait for a new node; nothing if no pool grows."""
        ...


@dataclass(frozen=True, slots=True)
class LoadTerms:
    """How often loads are queried, how many seconds each look reaches back, and by whose time."""

    seconds: int
    window_seconds: int
    matchers: str = ""
    clock: Clock = SYSTEM

    @property
    def window(self) -> timedelta:
        """How far a look reaches back."""
        return timedelta(seconds=self.window_seconds)


class LoadWatch:
    """Queries at a fixed interval while `run` runs, and calls `changed` when there is news."""

    def __init__(
        self,
        source: Source,
        services: Services,
        changed: Callable[[], None],
        *,
        terms: LoadTerms,
    ) -> None:
        self._asking = LoadAsking(source, Allowance(seconds=terms.seconds), terms.clock)
        self._clock = terms.clock
        self._services = services
        self._changed = changed
        self._terms = terms
        self._scope = Scope(terms.window_seconds, terms.matchers)
        self._demands: dict[str, JobDemand] = {}
        self._node_start = timedelta()
        self._known: dict[tuple[str, str], tuple[datetime, RoleDemand]] = {}
        self._looked: dict[str, datetime] = {}
        self._past_due: dict[tuple[str, str], datetime | None] = {}
        self._foresight = LoadForecast(terms.window, terms.clock.thread)
        self._book = CapacityBook()
        self._starts = StartBook()

    def current(self) -> tuple[JobDemand, ...]:
        """What is known of each service's load."""
        return tuple(self._demands.values())

    async def run(self, leads: Callable[[], bool]) -> NoReturn:
        """Query until cancelled, whenever this replica leads."""
        while True:
            if leads():
                due = self._clock.monotonic() + self._terms.seconds
                await self.look(self._clock.now())
                while self._clock.monotonic() < due and await self._filled_one(self._clock.now()):
                    pass
                await self._rest(due, leads)
            else:
                self._forget_others(())
                await asyncio.sleep(STANDBY_SECONDS)

    async def _rest(self, due: float, leads: Callable[[], bool]) -> None:
        """Query only services that sleep until the next look at all is due."""
        rest = ASLEEP_SECONDS
        while (left := due - self._clock.monotonic()) > rest and leads():
            await asyncio.sleep(rest)
            began = self._clock.monotonic()
            known = (j for j in self._services.services() if j.metadata.uid in self._demands)
            sleeping = asleep(known, self._services.pods_of_services())
            await self._look_at(self._asking.affordable(sleeping), self._clock.now())
            rest = max(ASLEEP_SECONDS, ASLEEP_RESTS * (self._clock.monotonic() - began))
        await asyncio.sleep(max(min(left, rest), SHORTEST_REST_SECONDS))

    async def look(self, now: datetime) -> None:
        """Query all services once."""
        jobs = {job.metadata.uid: job for job in self._services.services() if is_measured(job)}
        self._forget_others(jobs)
        self._foresight.allow_learning(LEARNING_SHARE * self._terms.seconds)
        self._asking.begin()
        await self._look_at(jobs.values(), now)

    async def _look_at(self, asked: Iterable[InferenceJob], now: datetime) -> None:
        jobs = {job.metadata.uid: job for job in asked}
        # Here, since threads that weigh readings must not look at what changes meanwhile.
        self._node_start = self._services.node_start_time()
        pods: dict[str, list[PodView]] = defaultdict(list)
        for pod in self._services.pods_of_services() if jobs else ():
            pods[pod.job_uid].append(pod)
        before, found = self._demands, dict[str, JobDemand]()

        async def ask(job: InferenceJob) -> None:
            uid = job.metadata.uid
            try:
                found[uid] = await self._demand(job, pods.get(uid, []), now)
            except Exception as error:  # noqa: BLE001 - around one service: the others are queried
                count_unforeseen("load", error, job=f"{job.metadata.namespace}/{job.metadata.name}")
                if uid in before:
                    found[uid] = before[uid]

        await self._asking.of_all(jobs.values(), ask)
        self._demands = before | found
        if any(is_news(before.get(uid), demand) for uid, demand in found.items()):
            self._changed()

    async def _filled_one(self, now: datetime) -> bool:
        """Query the past load of one role; return whether there was one to do."""
        jobs = [job for job in self._services.services() if job.metadata.uid in self._demands]
        due = {job.metadata.uid: role for job in jobs if (role := self._unfilled(job, now))}
        job = self._asking.first_of_all(job for job in jobs if job.metadata.uid in due)
        if job is not None:
            await self._fill(job, due[job.metadata.uid], now)
        return job is not None

    def _unfilled(self, job: InferenceJob, now: datetime) -> Role | None:
        """A role whose past load has not been queried yet."""
        times = ((r, self._past_due.get((job.metadata.uid, r.name), now)) for r in job.spec.roles)
        return next((role for role, at in times if at is not None and at <= now), None)

    async def _fill(self, job: InferenceJob, role: Role, now: datetime) -> None:
        key = job.metadata.uid, role.name
        query = past_query(job, role, self._scope)
        result = await self._asking.past(job, query, past_span(now))
        if isinstance(result, NoResult):
            unreached = result.outcome is Outcome.UNAVAILABLE
            self._past_due[key] = now + PAST_AGAIN if unreached else None
            return
        self._past_due[key] = None
        try:
            past = past_loads(result)
            self._foresight.look(job.metadata.namespace, *key, past)
            for bucket, loads in past.items():
                self._foresight.fill((*key, bucket), loads)
        except Exception as error:  # noqa: BLE001 - around one role: its past is optional
            count_unforeseen("load", error, job=f"{job.metadata.namespace}/{job.metadata.name}")
        await asyncio.sleep(REST_BETWEEN_PASTS_SECONDS)

    async def _demand(self, job: InferenceJob, pods: list[PodView], now: datetime) -> JobDemand:
        self._starts.look(job, pods)
        starts = [self._starts.start(job, role.name) for role in job.spec.roles]
        longest = max((each.anywhere for each in starts if each is not None), default=None)
        found = role_pods(pods, now, self._terms.window, kinds_of(job))
        results = LoadResults(
            job,
            [
                await self._asking.default(job, query, now)
                for query in default_queries(job, self._scope, pods_by_type(found))
            ],
            [(own, await self._asking.own(job, own.query, now)) for own in own_queries(job)],
            found,
            self._terms.window,
            drain_seconds(job, longest),
            now,
        )
        reading = await asyncio.to_thread(job_reading, results)
        return await asyncio.to_thread(self._weighed, job, reading, now)

    def _weighed(self, job: InferenceJob, reading: JobReading, now: datetime) -> JobDemand:
        """Merge a reading with the one before."""
        uid = job.metadata.uid
        for gap in reading.unknown.values():
            metrics.LOAD_GAPS.labels(gap.gap).inc()
        roles: list[RoleDemand] = []
        problems: list[str] = []
        for role in job.spec.roles:
            loads, gap = reading.loads.get(role.name), reading.unknown.get(role.name)
            if loads is not None:
                foreseen = self._foreseen(job, role, loads, now)
                types = reading.types.get(role.name, ())
                self._known[uid, role.name] = now, replace(foreseen, types=types)
            at, known = self._known.get((uid, role.name), (now, None))
            if known is not None and (gap is None or self._holds(gap.gap, now - at)):
                roles.append(known)
            elif gap is not None:
                problems.append(gap.message)
        if reading.remark:
            problems.append(reading.remark)
        demand = JobDemand(
            uid,
            now,
            tuple(roles),
            "; ".join(dict.fromkeys(problems)),
            reading.attainment_percent,
            reading.latencies,
            reading.running_requests,
            latency_ranges=reading.latency_ranges,
            late=reading.late,
            awaits_metrics=not reading.remark and _is_first_gap(reading),
            backlog=reading.backlog,
            kv_cache_used=reading.kv_cache_used,
        )
        return self._with_learned(job, demand, now)

    def _holds(self, gap: Gap, age: timedelta) -> bool:
        """Whether a value of that age still holds although it is missing now."""
        return gap is not Gap.NO_REPLICA and age <= self._terms.window

    def _foreseen(self, job: InferenceJob, role: Role, loads: Loads, now: datetime) -> RoleDemand:
        uid, fading = job.metadata.uid, dict.fromkeys(fading_buckets(job, role, loads), 0.0)
        kept = dict(islice({**loads, **fading}.items(), MOST_BUCKETS))
        aim = Aim.of(job, role, tuple(kept))
        outlook = Outlook.of(job, aim, self._starts.start(job, role.name), self._node_start)
        self._foresight.look(job.metadata.namespace, uid, role.name, kept)
        serving = serving_now(job, role, kept)
        return RoleDemand(
            role.name,
            tuple(
                self._foresight.demand(
                    (uid, role.name, bucket), load, outlook, now, serving[bucket]
                )
                for bucket, load in sorted(kept.items())
            ),
        )

    def _with_learned(self, job: InferenceJob, demand: JobDemand, now: datetime) -> JobDemand:
        uid = job.metadata.uid
        since = self._looked.get(uid)
        self._looked[uid] = now
        if since is not None:
            seconds = min((now - since).total_seconds(), self._terms.window_seconds)
            self._book.look(job, demand, seconds)
        specs = {role.name: role for role in job.spec.roles}
        roles = tuple(
            replace(each, learned=self._book.learned(job, specs[each.role]))
            for each in demand.roles
        )
        return replace(demand, roles=roles)

    def _forget_others(self, uids: Iterable[str]) -> None:
        kept = set(uids)
        self._demands = {uid: each for uid, each in self._demands.items() if uid in kept}
        self._known = {key: each for key, each in self._known.items() if key[0] in kept}
        self._looked = {uid: at for uid, at in self._looked.items() if uid in kept}
        self._past_due = {key: at for key, at in self._past_due.items() if key[0] in kept}
        self._asking.forget_others(kept)
        self._foresight.forget_others(kept)
        self._book.forget_others(kept)
        self._starts.forget_others(kept)


def _is_first_gap(reading: JobReading) -> bool:
    """Whether the gap is only that nothing has reported yet, as while replicas start."""
    return all(unknown.gap in FIRST_GAPS for unknown in reading.unknown.values())


def fading_buckets(job: InferenceJob, role: Role, loads: Loads) -> list[str]:
    """Buckets still wanted, but without traffic.

    If loads were split by bucket and now are not, or the other way round, they are the same loads.
    """
    status = role_status(job, role)
    wanted = [load.bucket for load in status.loads if load.wanted] if status else []
    are_alike = (ANY_SIZE in wanted) == (ANY_SIZE in loads)
    return [bucket for bucket in wanted if bucket not in loads] if are_alike else []
