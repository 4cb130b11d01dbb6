"""Derive each role's offered load from the results about a service, or why it is unknown.

Nothing that Prometheus returns raises an error here. Missing values, non-numbers and non-loads are
reported as such, in words for users.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.roles import ANY_SIZE, Role
from plimsoll.observe.measured.sample import NoResult, Outcome, QueryResult
from plimsoll.planning.serving.replicas import capacities
from plimsoll.signals.load.offered import Flow, offered, offered_at_pace, offered_tokens
from plimsoll.signals.load.phases import before
from plimsoll.signals.load.queries import OwnQuery, pods_pattern, unit_of
from plimsoll.signals.load.role_pods import RolePods
from plimsoll.signals.load.servers.gateways import gateway_of
from plimsoll.signals.load.servers.known import METRICS, metrics_of, recognised
from plimsoll.signals.load.servers.terms import Measure

MOST_BUCKETS: Final = 64
LONGEST_BUCKET: Final = 63
ENOUGH_REPORT: Final = 0.75
"""If this share of the replicas reports its load, the others are assumed to have as much."""
LAST_MINUTE: Final = timedelta(minutes=1)
"""The least time left: a backlog that is due now is due within a minute."""

_IN_FRONT: Final = (Measure.FRONT_QUEUE, Measure.FRONT_GROWTH, Measure.UNSERVED)

Loads = Mapping[str, float]
"""By bucket."""


class Gap(StrEnum):
    """Why a load is unknown."""

    NO_ANSWER = "NoAnswer"
    REFUSED = "Refused"
    NO_DATA = "NoData"
    NO_REPLICA = "NoReplica"
    PART_OF_DATA = "PartOfData"
    FLAWED = "Flawed"
    OVER_BUDGET = "OverBudget"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something unknown: the kind of gap, and a sentence for users."""

    gap: Gap
    message: str


@dataclass(frozen=True, slots=True)
class LoadResults:
    """All queries about a job, and their results.

    `drain_seconds`: the time within which waiting requests should be served.
    """

    job: InferenceJob
    defaults: Sequence[QueryResult | NoResult]
    own: Sequence[tuple[OwnQuery, QueryResult | NoResult]]
    pods: Mapping[str, RolePods]
    window: timedelta
    drain_seconds: float
    now: datetime


@dataclass(slots=True)
class Defaults:
    """The result of the default query by measure and pod, and its unusable values.

    `servers`: metrics of other servers than the one named.
    """

    values: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    flaws: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    missing: "Unknown | None" = None
    servers: set[str] = field(default_factory=set[str])

    def sum(self, measure: str, pods: Iterable[str]) -> float:
        """The sum of a measurement over these pods."""
        by_pod = self.values.get(measure, {})
        return sum(by_pod.get(pod, 0.0) for pod in pods)


def defaults_of(results: Iterable[QueryResult | NoResult]) -> Defaults:
    """The default query's results combined."""
    found = Defaults()
    for result in results:
        if isinstance(result, NoResult):
            found.missing = found.missing or no_result(result)
            continue
        for sample in result.samples:
            measure, pod = sample.labels.get("measure", ""), sample.labels.get("pod", "")
            if measure == Measure.SERVER:
                found.servers.add(sample.labels.get("server", ""))
            elif sample.value < 0 and not measure.endswith("Growth"):
                found.flaws[measure, pod] = "Absurd"
            else:
                # A replica may have several queues.
                values = found.values.setdefault(measure, {})
                values[pod] = values.get(pod, 0.0) + sample.value
        for flawed in result.flawed:
            labels = flawed.labels
            found.flaws[labels.get("measure", ""), labels.get("pod", "")] = flawed.flaw
    return found


def role_loads(results: LoadResults, role: Role, defaults: Defaults) -> Loads | Unknown:
    """A role's offered load by bucket."""
    backlog = own_values(results, role, "Backlog")
    if isinstance(backlog, Unknown):
        return backlog
    if backlog is not None and results.job.spec.load.deadline is not None:
        return _by_deadline(results, role, backlog, results.job.spec.load.deadline)
    loads = own_values(results, role, "Load")
    if loads is None:
        loads = _measured(results, role, defaults)
    if isinstance(loads, Unknown) or not backlog:
        return loads
    return {
        bucket: loads.get(bucket, 0.0) + backlog.get(bucket, 0.0) / results.drain_seconds
        for bucket in {**loads, **backlog}
    }


def is_late(results: LoadResults) -> bool:
    """Whether the deadline for the remaining work has passed."""
    deadline = results.job.spec.load.deadline
    return deadline is not None and results.now >= deadline


def own_values(results: LoadResults, role: Role, measurement: str) -> Loads | Unknown | None:
    """The result of the user's query by bucket; None if there is no such query."""
    for query, result in results.own:
        if (query.measurement, query.role) == (measurement, role.name):
            return _own_values(query, result)
    return None


def no_result(result: NoResult) -> Unknown:
    """Why there is no result."""
    if result.outcome is Outcome.REFUSED:
        return Unknown(Gap.REFUSED, f"Prometheus refuses it: {result.message}")
    if result.outcome is Outcome.POSTPONED:
        return Unknown(Gap.OVER_BUDGET, result.message)
    if result.outcome is Outcome.UNUSABLE:
        return Unknown(Gap.REFUSED, f"its answer cannot be used: {result.message}")
    return Unknown(Gap.NO_ANSWER, f"Prometheus gives no answer: {result.message}")


def _own_values(query: OwnQuery, result: QueryResult | NoResult) -> Loads | Unknown:
    which = f"the query for {query.measurement} of role {query.role}"
    if isinstance(result, NoResult):
        unknown = no_result(result)
        return Unknown(unknown.gap, f"{which}: {unknown.message}")
    if result.flawed:
        return Unknown(Gap.FLAWED, f"{which} gives {_words(result.flawed[0].flaw)}")
    if not result.samples:
        return Unknown(Gap.NO_DATA, f"{which} finds nothing")
    sums: dict[str, float] = defaultdict(float)
    for sample in result.samples:
        sums[sample.labels.get("bucket") or ANY_SIZE] += sample.value
    if len(sums) > MOST_BUCKETS or any(len(bucket) > LONGEST_BUCKET for bucket in sums):
        longest = f"{MOST_BUCKETS} buckets with names of {LONGEST_BUCKET} characters"
        return Unknown(Gap.FLAWED, f"{which} gives {len(sums)} buckets; there may be {longest}")
    return dict(sums)


def _by_deadline(results: LoadResults, role: Role, backlog: Loads, deadline: datetime) -> Loads:
    """The rate that finishes everything by then, but no more than the most replicas could do."""
    seconds = max(deadline - results.now, LAST_MINUTE).total_seconds()
    best = max(capacities(results.job, role).values(), default=math.inf)
    fastest = best * role.replicas.max
    late = is_late(results) and math.isfinite(fastest)
    return {
        bucket: (fastest if late else min(left / seconds, fastest)) if left > 0 else 0.0
        for bucket, left in backlog.items()
    }


def _measured(results: LoadResults, role: Role, defaults: Defaults) -> Loads | Unknown:
    """By the replicas' own metrics, and what waits in front of them."""
    pods = results.pods.get(role.name, RolePods())
    in_front = defaults.values.keys() & {Measure.FRONT_QUEUE, Measure.UNSERVED}
    if defaults.missing:
        message = f"the load of role {role.name}: {defaults.missing.message}"
        return Unknown(defaults.missing.gap, message)
    if not pods.ready and not in_front:
        return Unknown(Gap.NO_REPLICA, _asleep(results, role))
    flow = _flow(results, role, defaults, pods)
    if isinstance(flow, Unknown):
        return flow
    if unit_of(results.job, role.name) is Measure.REQUESTS:
        return {ANY_SIZE: offered(flow, results.drain_seconds)}
    if metrics_of(results.job).requests:
        load = offered_tokens(flow, results.drain_seconds)
    else:
        load = offered_at_pace(flow)
    if not pods.ready and not load:
        # Each request wants at least one token, and so a replica.
        load = flow.waiting / results.drain_seconds + flow.unserved
    if load is None:
        wait = f"{flow.waiting:g} requests of role {role.name} wait, and none was answered"
        return Unknown(Gap.NO_DATA, f"{wait} of late that shows how many tokens they take")
    return {ANY_SIZE: load}


def _flow(results: LoadResults, role: Role, defaults: Defaults, pods: RolePods) -> Flow | Unknown:
    unit = unit_of(results.job, role.name)
    mine = _names_in_result(results.job, role, defaults)
    parts = (unit, Measure.REQUESTS, Measure.RUNNING, Measure.WAITING)
    growths = (Measure.RUNNING_GROWTH, Measure.WAITING_GROWTH)
    for (measure, pod), flaw in defaults.flaws.items():
        if measure in (*parts, *growths, *_IN_FRONT) and (not pod or pod in mine):
            return Unknown(
                Gap.FLAWED, f"{measure} of {pod or 'the queue in front'} is {_words(flaw)}"
            )
    share = _reporting_share(results, role, defaults, pods, mine)
    if isinstance(share, Unknown):
        return share
    grows = growths if unit is Measure.REQUESTS else growths[1:]
    seconds = results.window.total_seconds()
    earlier = _names_before(results.job, role, defaults)
    growth = sum(defaults.sum(each, mine) for each in grows) / share / seconds
    growth += defaults.sum(Measure.WAITING_GROWTH, earlier) / seconds
    growth += defaults.sum(Measure.FRONT_GROWTH, ("",)) / seconds
    return Flow(
        served=defaults.sum(unit, mine) / share,
        completed=defaults.sum(Measure.REQUESTS, mine) / share,
        growth=growth,
        waiting=_waiting(results, role, defaults, mine & pods.names, share),
        running=defaults.sum(Measure.RUNNING, mine) / share,
        unserved=defaults.sum(Measure.UNSERVED, ("",)),
    )


def _waiting(
    results: LoadResults, role: Role, defaults: Defaults, there: frozenset[str], share: float
) -> float:
    """The requests waiting for a role's replicas and at them."""
    own = own_values(results, role, "Waiting")
    if own is not None and not isinstance(own, Unknown):
        return sum(own.values())
    in_front = defaults.sum(Measure.FRONT_QUEUE, ("",))
    if Measure.WAITING in defaults.values:
        return in_front + defaults.sum(Measure.WAITING, there) / share
    return in_front + defaults.sum(Measure.POOL_QUEUE, ("",))


def _reporting_share(
    results: LoadResults, role: Role, defaults: Defaults, pods: RolePods, mine: frozenset[str]
) -> float | Unknown:
    """The share of the replicas that report their load."""
    counted = defaults.values.get(Measure.REQUESTS, {}).keys() & mine
    known = set(counted)
    for measure in (unit_of(results.job, role.name), Measure.RUNNING):
        known |= defaults.values.get(measure, {}).keys() & mine
    only_counts = Measure.RUNNING not in defaults.values
    if counted and (only_counts or results.job.spec.load.server == "HTTP"):
        # A server that has served nothing yet has no counters, however often it is scraped.
        scraped = defaults.values.get(Measure.SCRAPED, {})
        known |= {pod for pod, value in scraped.items() if value}
    silent = sum(not (names & known) for names in pods.settled)
    if pods.ready and not known:
        silence = _silent(results, role, pods.ready, pods.ready)
        return Unknown(Gap.NO_DATA, silence + _mistaken(results, defaults))
    share = 1 - silent / len(pods.settled) if pods.settled else 1.0
    if share < ENOUGH_REPORT:
        return Unknown(Gap.PART_OF_DATA, _silent(results, role, silent, pods.ready))
    return share


def _names_in_result(job: InferenceJob, role: Role, defaults: Defaults) -> frozenset[str]:
    """The role's pods in the result, including those that have gone meanwhile."""
    names = {pod for by_pod in defaults.values.values() for pod in by_pod}
    names |= {pod for _, pod in defaults.flaws}
    # For names of Kubernetes, patterns mean the same in Prometheus and in Python.
    matches = re.compile(pods_pattern(job, role)).fullmatch
    return frozenset(filter(matches, names))


def _names_before(job: InferenceJob, role: Role, defaults: Defaults) -> frozenset[str]:
    """The pods through which requests come before they reach the role's: they bring it its load."""
    names = (_names_in_result(job, each, defaults) for each in before(job, role.name))
    return frozenset[str]().union(*names)


def _silent(results: LoadResults, role: Role, silent: int, ready: int) -> str:
    server = results.job.spec.load.server
    what = "requests" if server == "HTTP" else f"{metrics_of(results.job).title} metrics"
    who = f"{silent} of the {ready} ready replicas of role {role.name}"
    return f"Prometheus knows no {what} of {who}, by the labels namespace and pod"


def _mistaken(results: LoadResults, defaults: Defaults) -> str:
    """Which server it is instead of the one named, if its metrics are there."""
    server = recognised(results.job, defaults.servers)
    if server is None:
        return ""
    return f"; it has {METRICS[server].title}'s: set spec.load.server: {server}"


def _asleep(results: LoadResults, role: Role) -> str:
    if role.replicas.min:
        return f"role {role.name} has no ready replica that could be measured"
    gateway = gateway_of(results.job)
    if gateway is None:
        return (
            f"role {role.name} has no ready replica, and only replicas are measured: to wake from"
            " zero it needs spec.load.gateway, or a query for Load that counts requests before they"
            " reach a replica"
        )
    name = gateway.name or results.job.metadata.name
    who = "the endpoint picker" if gateway.type == "InferencePool" else gateway.type
    return (
        f"role {role.name} has no ready replica, and {who} reports no requests for {name} that"
        " could wake it: check that Prometheus scrapes the gateway, and spec.load.gateway.name"
    )


def _words(flaw: str) -> str:
    words = {
        "NaN": "not a number",
        "Infinite": "infinite",
        "Stale": "too old",
        "Malformed": "no sample",
    }
    return words.get(flaw, "out of all bounds")
