"""What was measured of pools and domains, and what plans take from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random

import pytest

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.power_domain import PowerDomain
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.cluster.power_model import DRAW_PERCENT, expected_milliwatts
from plimsoll.planning.power.history import Observations, domain_deviation, pool_power
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.problem import Problem
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import (
    a_gpu_pod,
    a_pool,
    a_power_domain,
    a_training_job,
    an_inference_job,
)

ROW = {"row": "a"}
KWOK = {"type": "kwok"}
IDLE, TYPICAL, LIMIT = 100, 500, 800
POWER = {"idleWatts": IDLE, "typicalWatts": TYPICAL, "limitWatts": LIMIT}
MINUTE = timedelta(minutes=1)
BY_NODE = {f"n{index}": 8 for index in range(6)}


def trained_on(name: str, *, gpus: int = 8) -> list[Manifest]:
    job = at(a_training_job(f"on-{name}", gpus=gpus), name)
    return [job, *pods_of(job)]


def served_on(name: str, *, gpus: int = 8) -> list[Manifest]:
    job = at(an_inference_job(f"on-{name}", gpus=gpus, role={"utilization": "Decode"}), name)
    return [job, *pods_of(job)]


@dataclass
class Hall:
    """A pool and a domain of six nodes of eight GPUs, and what they really draw."""

    manifests: list[Manifest]
    true_watts: float
    noise: float = 0.0
    measured_by: str = "node"
    rng: Random = field(default_factory=lambda: Random(1))
    pool: Manifest = field(default_factory=lambda: a_pool("p", KWOK, power=POWER))
    domain: Manifest = field(
        default_factory=lambda: a_power_domain("row-a", ROW, budget_watts=90_000)
    )
    translator: ProblemBuilder = field(default_factory=ProblemBuilder)

    def draws(self) -> Mapping[str, float]:
        """What each node draws now; half of what GPUs draw beyond idle strays together."""
        common = self.rng.gauss(0, self.noise / 2)
        return {
            name: gpus * IDLE
            + busy * (self.true_watts - IDLE) * (1 + common + self.rng.gauss(0, self.noise))
            for name, gpus in BY_NODE.items()
            for busy in (self.busy(name),)
        }

    def busy(self, name: str) -> float:
        """GPUs in typical use that draw as much as what runs on a node."""
        on = [m for m in self.manifests if m["metadata"]["name"] == f"on-{name}"]
        return sum(_asked(job) for job in on)

    def seen(self, now: datetime, reading: PowerReading | None) -> tuple[Snapshot, Problem]:
        nodes = [fake_node(name, labels=ROW) for name in BY_NODE]
        snapshot = seen(*nodes, *self.manifests, self.pool, self.domain, now=now, power=reading)
        return snapshot, plan_input_of(snapshot, self.translator).problem

    def reading(self, now: datetime) -> PowerReading:
        draws = self.draws()
        domains = {"row-a": sum(draws.values())}
        return PowerReading(now, domains, draws if self.measured_by == "node" else {})

    def lives(self, minutes: int, *, begin: datetime = NOW) -> Iterator[tuple[float, float]]:
        """What is expected and what is measured each minute; statuses are kept."""
        for minute in range(minutes):
            now = begin + minute * MINUTE
            reading = self.reading(now)
            snapshot, problem = self.seen(now, reading)
            [pool], [domain] = snapshot.pools, snapshot.power_domains
            expected = expected_milliwatts(snapshot, problem)["row-a"] / 1000
            yield expected, reading.domains["row-a"]
            self.keep(pool, domain, Observations(snapshot, problem))

    def keep(self, pool: GPUPool, domain: PowerDomain, observations: Observations) -> None:
        power = pool_power(pool, observations)
        deviation = domain_deviation(domain, observations)
        self.pool = {**self.pool, "status": {"power": power.wire()} if power else {}}
        kept = {"deviation": deviation.wire()} if deviation else {}
        self.domain = {**self.domain, "status": kept}

    @property
    def power(self) -> Manifest:
        return self.pool.get("status", {}).get("power", {})

    @property
    def deviation(self) -> Manifest:
        return self.domain.get("status", {}).get("deviation", {})


def _asked(job: Manifest) -> float:
    if job["kind"] == "TrainingJob":
        return job["spec"]["workers"]["gpusPerWorker"]
    if job["kind"] == "InferenceJob":
        return job["spec"]["roles"][0]["gpusPerReplica"] * DRAW_PERCENT["Decode"] / 100
    return 0.0


def busy_hall(true_watts: float, *, noise: float = 0.0, measured_by: str = "node") -> Hall:
    jobs = [*(trained_on(name) for name in ("n0", "n1", "n2")), served_on("n3"), served_on("n4")]
    manifests = [each for job in jobs for each in job]
    return Hall(manifests, true_watts, noise=noise, measured_by=measured_by)


def mean_error(pairs: Iterator[tuple[float, float]]) -> float:
    errors = [abs(measured - expected) / measured for expected, measured in pairs]
    return sum(errors) / len(errors)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("true_watts", "measured_by"), [(300, "node"), (400, "domain"), (600, "domain"), (700, "node")]
)
def test_after_an_hour_the_expected_draw_is_off_by_five_percent_at_most(
    true_watts: float, measured_by: str
) -> None:
    hall = busy_hall(true_watts, noise=0.08, measured_by=measured_by)
    before = mean_error(hall.lives(1))
    for _ in hall.lives(60, begin=NOW + MINUTE):
        pass
    after = mean_error(hall.lives(30, begin=NOW + 61 * MINUTE))
    assert before > 0.1
    assert after <= 0.05


def test_without_noise_the_measured_draw_is_found_exactly() -> None:
    hall = busy_hall(400)
    for _ in hall.lives(60):
        pass
    assert float(hall.power["typicalWatts"]) == pytest.approx(400, rel=0.02)
    assert hall.power["plannedWatts"] == pytest.approx(400, rel=0.03)


def test_plans_change_only_now_and_then_for_what_is_measured() -> None:
    hall = busy_hall(350, noise=0.1)
    planned = [hall.power.get("plannedWatts", TYPICAL) for _ in hall.lives(90)]
    assert sum(one != other for one, other in pairwise(planned)) <= 20
    assert len(set(planned[45:])) <= 3


def test_measurements_that_follow_each_other_at_once_are_counted_together() -> None:
    hall = Hall(trained_on("n0"), 400)
    for _ in hall.lives(5):
        pass
    learned = hall.power
    assert only_status(hall, now=NOW + 4 * MINUTE + MINUTE / 2) == learned
    assert only_status(hall, now=NOW + 5 * MINUTE) != learned


@pytest.mark.slow
def test_the_reserve_follows_how_far_a_domain_really_strays() -> None:
    calm, wild = busy_hall(500, noise=0.01), busy_hall(500, noise=0.4)
    for hall in (calm, wild):
        for _ in hall.lives(90):
            pass
    assert calm.deviation["plannedPercent"] <= 50
    assert wild.deviation["plannedPercent"] >= 100


def test_the_reserve_is_not_measured_before_the_pools_are_known() -> None:
    hall = busy_hall(350)
    for _ in hall.lives(10):
        assert not hall.deviation


def only_status(hall: Hall, *, now: datetime = NOW) -> Manifest:
    reading = hall.reading(now)
    snapshot, problem = hall.seen(now, reading)
    power = pool_power(snapshot.pools[0], Observations(snapshot, problem))
    return power.wire() if power else {}


def test_a_reading_says_something_of_a_pool() -> None:
    assert only_status(Hall(trained_on("n0"), 400))


@pytest.mark.parametrize("measured_by", ["node", "domain"])
def test_nothing_is_learned_where_nothing_runs(measured_by: str) -> None:
    assert not only_status(Hall([], 400, measured_by=measured_by))


@pytest.mark.parametrize("measured_by", ["node", "domain"])
def test_nothing_is_learned_of_gpus_that_others_have(measured_by: str) -> None:
    foreign = a_gpu_pod("foreign", "n0", gpus=4)
    assert not only_status(Hall([*trained_on("n0", gpus=4), foreign], 400, measured_by=measured_by))


def test_nothing_is_learned_while_pods_are_missing_or_just_start() -> None:
    job, *pods = trained_on("n0")
    assert not only_status(Hall([job], 400))
    for pod in pods:
        pod["metadata"]["creationTimestamp"] = (NOW - MINUTE).isoformat()
    assert not only_status(Hall([job, *pods], 400))
    assert only_status(Hall([job, *pods], 400), now=NOW + 2 * MINUTE)


def test_a_pool_without_power_has_nothing_to_correct() -> None:
    hall = Hall(trained_on("n0"), 400, pool=a_pool("p", KWOK))
    assert not only_status(hall)


def test_what_was_learned_is_kept_while_nothing_is_measured() -> None:
    hall = Hall(trained_on("n0"), 400)
    for _ in hall.lives(5):
        pass
    learned = hall.power
    snapshot, problem = hall.seen(NOW + 60 * MINUTE, None)
    kept = pool_power(snapshot.pools[0], Observations(snapshot, problem))
    assert kept is not None
    assert kept.wire() == learned
