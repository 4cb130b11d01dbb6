"""Queues over days: the operator's planning, with jobs that come and end in simulated time."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_placement.effort import Effort
from support.clusters.simulated_cluster import SimulatedCluster
from support.objects.job_manifests import a_policy, a_queue, a_training_job

pytestmark = pytest.mark.slow
GPUS = 8
STEP = timedelta(minutes=30)
DAY = timedelta(days=1)
HALF_LIFE = timedelta(hours=12)
HOURS = (1.0, 1.5, 2.0, 2.5, 3.0)
"""How long jobs take, one after the other."""
BACKLOG = GPUS


class Days:
    """Two queues on one node, and how many GPU-hours each has had."""

    def __init__(  # noqa: PLR0913 - a builder: a test names only what it is about
        self,
        effort: Effort,
        *,
        half_life: str = "12h",
        weights: Mapping[str, int] | None = None,
        guaranteed: Mapping[str, int] | None = None,
        sizes: Mapping[str, int] | None = None,
        hours: tuple[float, ...] = HOURS,
    ) -> None:
        self.cluster = SimulatedCluster(effort)
        self.cluster.apply(fake_node("n", H100, GPUS))
        self.cluster.apply(a_policy(fairness={"usageHalfLife": half_life}))
        owned = guaranteed or {}
        for queue, weight in (weights or {"one": 1, "two": 1}).items():
            self.cluster.apply(a_queue(queue, weight=weight, guaranteed=owned.get(queue, 0)))
        self.sizes, self.lengths = sizes or {}, hours
        self.hours: dict[str, float] = defaultdict(float)
        self._numbers = itertools.count()
        self._ends: dict[str, datetime] = {}

    def pass_days(self, days: float, *busy: str) -> dict[str, float]:
        """So long these queues have more jobs than fit; the GPU-hours that each gets."""
        before = dict(self.hours)
        for _ in range(round(days * (DAY / STEP))):
            self.step(busy)
        return {queue: had - before.get(queue, 0.0) for queue, had in self.hours.items()}

    def step(self, busy: Iterable[str]) -> None:
        self._end_jobs()
        for queue in busy:
            self._fill(queue)
        self.cluster.turn()
        self.cluster.publish()
        for queue, gpus in self.held().items():
            self.hours[queue] += gpus * (STEP / timedelta(hours=1))
        self.cluster.pass_time(STEP)

    def held(self) -> dict[str, int]:
        held: dict[str, int] = defaultdict(int)
        for job in self.cluster.jobs():
            if job.status.placement is not None:
                held[job.spec.queue] += len(job.status.placement.assignments)
        return held

    def averages(self) -> dict[str, float]:
        return {
            queue.metadata.name: sum(float(each.average) for each in queue.status.usage)
            for queue in self.cluster.snapshot().queues
        }

    def _fill(self, queue: str) -> None:
        waiting = sum(
            job.spec.queue == queue and job.status.placement is None for job in self.cluster.jobs()
        )
        for _ in range(BACKLOG - waiting):
            workers = self.sizes.get(queue, 1)
            name = f"{queue}-{next(self._numbers)}"
            self.cluster.apply(a_training_job(name, workers=workers, queue=queue))

    def _end_jobs(self) -> None:
        """What has had its time is over; what runs never loses its place before that."""
        names = {job.metadata.name: job.status.placement for job in self.cluster.jobs()}
        for name, placement in names.items():
            if placement is not None and name not in self._ends:
                number = int(name.rpartition("-")[2])
                hours = self.lengths[number % len(self.lengths)]
                self._ends[name] = self.cluster.now + timedelta(hours=hours)
        lost = [name for name in self._ends if names.get(name) is None]
        assert not lost
        for name in [name for name, ends in self._ends.items() if ends <= self.cluster.now]:
            self.cluster.remove("TrainingJob", name)
            del self._ends[name]


@pytest.mark.parametrize(
    ("effort", "sizes"),
    [(Effort(0), {}), (Effort(0), {"two": 3}), (Effort(0.02), {"two": 3})],
    ids=["greedy", "greedy, one queue's jobs are large", "search, one queue's jobs are large"],
)
def test_who_used_more_of_late_yields_until_both_have_had_the_same(
    effort: Effort, sizes: Mapping[str, int]
) -> None:
    # A large gang finds room only where several end at a time.
    days = Days(effort, sizes=sizes, hours=(2,) if sizes else HOURS)
    alone = days.pass_days(0.5, "one")
    assert alone["one"] == 12 * GPUS
    catching_up = days.pass_days(0.5, "one", "two")
    assert catching_up["two"] > 1.8 * catching_up["one"]
    days.pass_days(0.5, "one", "two")
    later = days.pass_days(1, "one", "two")
    assert later["one"] + later["two"] == 24 * GPUS
    assert abs(later["one"] - later["two"]) < 0.1 * (later["one"] + later["two"])
    averages = days.averages()
    assert abs(averages["one"] - averages["two"]) < 0.1 * GPUS


def test_where_the_past_does_not_count_each_gets_its_share_of_the_present() -> None:
    days = Days(Effort(0.02), half_life="0s")
    days.pass_days(0.5, "one")
    both = days.pass_days(0.5, "one", "two")
    assert abs(both["one"] - both["two"]) <= max(HOURS) * GPUS
    assert days.averages() == {"one": 0, "two": 0}


def test_weights_are_what_use_converges_to() -> None:
    days = Days(Effort(0), weights={"one": 1, "three": 3})
    days.pass_days(1, "one", "three")
    days.pass_days(1, "one", "three")
    averages = days.averages()
    assert 2.5 < averages["three"] / averages["one"] < 3.5


@pytest.mark.parametrize("idle_days", [0.5, 2])
def test_a_queue_that_was_idle_catches_up_on_a_half_life_at_most(idle_days: float) -> None:
    days = Days(Effort(0))
    days.pass_days(idle_days, "one")
    share, hour = GPUS / 2, timedelta(hours=1)
    ahead, most_ahead = 0.0, 0.0
    for _ in range(6):
        part = days.pass_days(0.25, "one", "two")
        ahead += part["two"] - 6 * share
        most_ahead = max(most_ahead, ahead)
    assert 0 < most_ahead <= HALF_LIFE / hour * share + max(HOURS) * GPUS


def test_a_guarantee_holds_whatever_its_queue_has_had() -> None:
    days = Days(Effort(0.02), guaranteed={"one": 6})
    days.pass_days(0.5, "one")
    days.pass_days(0.25, "one", "two")
    for _ in range(12):
        days.step(["one", "two"])
        assert days.held()["one"] >= 6


def test_while_nothing_comes_or_ends_nothing_is_disturbed() -> None:
    days = Days(Effort(0.02))
    days.pass_days(0.25, "one")
    days.step(["one", "two"])
    cluster, held = days.cluster, days.held()
    places = {job.metadata.name: job.status.placement for job in cluster.jobs()}
    plans = cluster.plans
    for _ in range(48):
        assert not any(step.create or step.delete for step in cluster.turn())
        cluster.publish()
        cluster.pass_time(STEP)
    assert days.held() == held
    assert {job.metadata.name: job.status.placement for job in cluster.jobs()} == places
    assert cluster.plans - plans < 40


def test_an_operator_that_is_restarted_goes_on_where_it_was() -> None:
    steady, restarted = Days(Effort(0)), Days(Effort(0))
    for days in (steady, restarted):
        days.pass_days(0.25, "one")
    restarted.cluster.restart()
    for days in (steady, restarted):
        days.pass_days(0.25, "one", "two")
    assert restarted.hours == steady.hours
    assert restarted.averages() == steady.averages()


def test_what_was_reported_is_not_written_again() -> None:
    days = Days(Effort(0))
    days.pass_days(0.25, "one", "two")
    days.cluster.turn()
    days.cluster.publish()
    assert days.cluster.publish() == 0
