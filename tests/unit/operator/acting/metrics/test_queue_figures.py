"""What queues use and are due is reported for just those that exist, while this replica acts."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from prometheus_client import REGISTRY

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.acting.metrics.labels import NO_POOL, UNKNOWN_QUEUE
from plimsoll.acting.metrics.queue_figures import QueueFigures
from plimsoll.api.job_queue import JobQueueStatus
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Plan
from plimsoll.planning.cluster.holdings import Holdings, holdings
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Outcome
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_pool, a_queue, a_training_job, an_inference_job

POWER = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 700}
POOL = a_pool("owned", {"pool": "owned"}, pricePerGPUHour="3", power=POWER)
OWNED = {"pool": "owned"}
NODES = (fake_node("n-1", labels=OWNED), fake_node("n-2", labels=OWNED), fake_node("n-3"))
TREE = (
    a_queue("labs", guaranteed=12, limit=16),
    a_queue("vision", parent="labs", guaranteed=4),
    a_queue("speech", parent="labs"),
)


@pytest.fixture
def figures() -> Iterator[QueueFigures]:
    figures = QueueFigures()
    yield figures
    figures.report(*_inputs())
    figures.forget()


def _inputs(
    *manifests: Manifest, now: datetime = NOW, power: PowerReading | None = None
) -> tuple[Snapshot, Problem, Holdings]:
    """What a report is about."""
    snapshot = seen(*manifests, now=now, power=power)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    return snapshot, plan_input.problem, holdings(plan_input.as_it_runs)


def gpus(what: str, queue: str, gpu_type: str = H100, **labels: str) -> float | None:
    whose = {"queue": queue, "gpu_type": gpu_type, **labels}
    return REGISTRY.get_sample_value(f"plimsoll_queue_gpus_{what}", whose)


def joules(queue: str) -> float | None:
    return REGISTRY.get_sample_value("plimsoll_queue_energy_joules_total", {"queue": queue})


def dollars(queue: str, pool: str) -> float | None:
    labels = {"queue": queue, "pool": pool}
    return REGISTRY.get_sample_value("plimsoll_queue_dollars_per_hour", labels)


def test_what_a_queue_uses_is_reported_by_type_and_pool_beside_its_quotas(
    figures: QueueFigures,
) -> None:
    here = at(a_training_job("here", gpus=6, queue="vision"), "n-1")
    there = at(a_training_job("there", gpus=2, queue="vision"), "n-3")
    figures.report(*_inputs(POOL, *NODES, *TREE, here, there))
    assert gpus("used", "vision", pool="owned") == 6
    assert gpus("used", "vision", pool=NO_POOL) == 2
    assert gpus("guaranteed", "vision") == 4
    assert gpus("borrowed", "vision") == 4
    assert gpus("limit", "vision") is None
    assert gpus("limit", "labs") == 16


def test_a_queue_includes_its_children(figures: QueueFigures) -> None:
    one = at(a_training_job("one", gpus=4, queue="vision"), "n-1")
    two = at(a_training_job("two", gpus=8, queue="speech"), "n-2")
    waiting = a_training_job("waiting", gpus=8, workers=3, queue="speech")
    figures.report(*_inputs(POOL, *NODES, *TREE, one, two, waiting))
    assert gpus("used", "labs", pool="owned") == 12
    assert gpus("borrowed", "labs") == 0
    assert gpus("waiting", "labs") == gpus("waiting", "speech") is None  # 24 never fit in 16
    assert dollars("labs", "owned") == 36
    assert dollars("vision", "owned") == 12


def test_the_status_of_a_queue_says_the_same(figures: QueueFigures) -> None:
    jobs = (
        at(a_training_job("one", gpus=4, queue="vision"), "n-1"),
        at(a_training_job("two", gpus=8, queue="speech"), "n-2"),
        at(a_training_job("three", gpus="0.5", queue="vision"), "n-3"),
    )
    shared = fake_node("n-3", gpus=2, replicas=2)
    snapshot, problem, held = _inputs(POOL, *NODES[:2], shared, *TREE, *jobs)
    figures.report(snapshot, problem, held)
    plan = Plan(NOW, (), (), 0.0, Outcome.GREEDY, 0)
    found = {r.metadata.name: s for r, s in cluster_statuses(snapshot, problem, plan, ())}
    for queue, used in (("labs", 12.5), ("vision", 4.5), ("speech", 8)):
        status = found[queue]
        assert isinstance(status, JobQueueStatus)
        (usage,) = status.usage
        pools = [gpus("used", queue, pool=pool) or 0 for pool in ("owned", NO_POOL)]
        assert float(usage.used) == sum(pools) == used
        assert float(usage.borrowed) == gpus("borrowed", queue)


def test_waiting_jobs_count_under_each_type_that_would_do_and_exists(
    figures: QueueFigures,
) -> None:
    full = [at(a_training_job(f"full-{n}", gpus=8), f"n-{n}") for n in (1, 2, 3)]
    either = a_training_job("either", workers=2, rates={H100: 2, A100: 1, "invented": 1})
    service = an_inference_job("serve", gpus=2)
    more = fake_node("n-4", gpu_type=A100, gpus=1)
    figures.report(*_inputs(*NODES, more, *full, either, service))
    assert gpus("waiting", "default") == 4
    assert gpus("waiting", "default", A100) == 2
    assert gpus("waiting", "default", "invented") is None


def test_what_waits_below_its_guarantee_is_owed(figures: QueueFigures) -> None:
    full = [at(a_training_job(f"full-{n}", gpus=8), f"n-{n}") for n in (1, 2, 3)]
    small = a_training_job("small", gpus=3, queue="vision")
    large = a_training_job("large", gpus=8, queue="vision")
    figures.report(*_inputs(*NODES, *TREE, *full, small, large))
    assert gpus("owed", "vision") == 3
    figures.report(*_inputs(*NODES, *TREE, *full[:2], at(small, "n-3"), large))
    assert gpus("owed", "vision") == 0


def test_energy_is_that_of_the_gpus_used_as_measured_or_else_as_expected(
    figures: QueueFigures,
) -> None:
    measured = at(a_training_job("measured", gpus=4, queue="vision"), "n-1")
    expected = at(a_training_job("expected", gpus=8, queue="speech"), "n-2")
    # Four idle GPUs of n-1 draw 400 W of the 2400 W expected; half of all is measured.
    power = PowerReading(NOW, nodes={"n-1": 1200.0})
    everything = (POOL, *NODES, *TREE, measured, expected)
    figures.report(*_inputs(*everything, power=power))
    before = joules("vision"), joules("speech"), joules("labs")
    assert before == (0, 0, 0)
    figures.report(*_inputs(*everything, power=power, now=NOW + timedelta(seconds=10)))
    assert joules("vision") == pytest.approx(10 * 1000)
    assert joules("speech") == pytest.approx(10 * 4000)
    assert joules("labs") == pytest.approx(10 * 5000)


def test_time_while_another_replica_acted_is_not_counted(figures: QueueFigures) -> None:
    everything = (POOL, *NODES, *TREE, at(a_training_job("job", gpus=8, queue="vision"), "n-1"))
    figures.report(*_inputs(*everything))
    figures.forget()
    figures.report(*_inputs(*everything, now=NOW + timedelta(hours=1)))
    assert joules("vision") in (None, 0)


def test_names_of_queues_that_are_not_there_add_no_series(figures: QueueFigures) -> None:
    forged = [at(a_training_job(f"f-{n}", queue=f"forged-{n}"), "n-1") for n in range(8)]
    waiting = [a_training_job(f"w-{n}", queue=f"invented-{n}", gpus=8) for n in range(8)]
    figures.report(*_inputs(POOL, *NODES, *forged, *waiting))
    figures.report(*_inputs(POOL, *NODES, *forged, *waiting, now=NOW + timedelta(seconds=1)))
    assert gpus("used", UNKNOWN_QUEUE, pool="owned") == 8
    assert dollars(UNKNOWN_QUEUE, "owned") == 24
    assert joules(UNKNOWN_QUEUE)
    queues = {s.labels.get("queue", "") for f in REGISTRY.collect() for s in f.samples}
    assert not [queue for queue in queues if queue.startswith(("forged", "invented"))]


def test_a_queue_that_is_gone_leaves_no_series(figures: QueueFigures) -> None:
    job = at(a_training_job("job", queue="vision"), "n-1")
    figures.report(*_inputs(POOL, *NODES, *TREE, job))
    figures.report(*_inputs(POOL, *NODES, *TREE, job, now=NOW + timedelta(seconds=1)))
    assert joules("vision")
    figures.report(*_inputs(POOL, *NODES, now=NOW + timedelta(seconds=2)))
    queues = {s.labels.get("queue", "") for f in REGISTRY.collect() for s in f.samples}
    assert not queues & {"labs", "vision", "speech"}


def test_who_does_not_act_reports_nothing(figures: QueueFigures) -> None:
    job = at(a_training_job("job", queue="vision"), "n-1")
    figures.report(*_inputs(POOL, *NODES, *TREE, job))
    figures.forget()
    assert gpus("used", "vision", pool="owned") is None
    assert gpus("guaranteed", "labs") is None
    assert dollars("vision", "owned") is None
