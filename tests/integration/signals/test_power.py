"""A real Prometheus scrapes GPUs that keep to caps, and power domains are held within budgets."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer, Scraped
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene, conditions
from support.objects.job_manifests import a_pool, a_power_domain, a_priority_class, a_training_job
from support.servers.capped_gpus import CAP, CappedGpus, capped_gpus
from support.servers.gpu_exporter import SCRAPED

SECONDS = 90
OVERSHOOT_SECONDS = 10
POWER = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 600, "minCapWatts": 200}
ROW = {"row": "a"}
DOMAIN = a_power_domain("row-a", ROW, budget_watts=4500)


@pytest.fixture
def gpus(api: ApiServer) -> Iterator[CappedGpus]:
    """What is expected of them by the pool, until a test has them draw more."""
    with capped_gpus(api, idle_watts=100, busy_watts=500, limit_watts=600) as gpus:
        yield gpus


@pytest.fixture
def operator(
    control_plane: Cluster, gpus: CappedGpus, prometheus_program: Path
) -> Iterator[OperatorProcess]:
    with PrometheusServer(prometheus_program, [Scraped(gpus.address, SCRAPED)]) as prometheus:
        asking = {"PROMETHEUS_URL": prometheus.url, "POWER_SECONDS": "1"}
        environment = {f"PLIMSOLL_{name}": value for name, value in asking.items()}
        with forked_operator(control_plane.kubeconfig, environment) as process:
            yield process
            assert process.stop() == 0


@pytest.fixture
def scene(api: ApiServer, namespace: str, operator: OperatorProcess) -> Iterator[Scene]:
    """Two nodes in a row, one in use by a job that matters and one by a job that does not."""
    scene = Scene(api, namespace, operator)
    scene.add_nodes(*(fake_node(name, gpus=4, labels=ROW) for name in ("n-1", "n-2")))
    scene.apply(a_priority_class("urgent", 100), a_pool("p", ROW, power=POWER), DOMAIN)
    yield scene
    if not operator.is_running():
        operator.start()


def two_jobs(scene: Scene) -> tuple[Manifest, Manifest]:
    """A job of priority 0 and an urgent one, each on a node of its own."""
    jobs = (
        a_training_job("batch", gpus=4),
        a_training_job("urgent", gpus=4, priorityClassName="urgent"),
    )
    scene.apply(*jobs)
    assert {node for job in jobs for node in scene.running(job).nodes} == {"n-1", "n-2"}
    return jobs


def cap_of(scene: Scene, job: Manifest) -> int | None:
    """What the GPUs of a job are limited to."""
    [node] = scene.running(job).nodes
    cap = scene.api.get(f"{NODES}/{node}")["metadata"].get("annotations", {}).get(CAP)
    return None if cap is None else int(cap)


def reported_of(scene: Scene, reason: str) -> list[str]:
    """Of whom in the cluster something was said for this reason."""
    path = f"/apis/events.k8s.io/v1/events?fieldSelector=reason={reason}"
    return [event["regarding"]["name"] for event in scene.api.items(path)]


def until(condition: Callable[[], Any], what: str, scene: Scene) -> None:
    try:
        wait_until(condition, timeout_seconds=SECONDS, what=what)
    except TimeoutError as error:
        raise TimeoutError(f"{what}; it says {scene.status(DOMAIN)}") from error


def until_measured(scene: Scene) -> None:
    is_measured = "PowerMeasured"
    until(lambda: conditions(scene.status(DOMAIN)).get(is_measured) == "True", "measured", scene)


def test_an_overshoot_is_capped_within_its_limit_and_whoever_matters_less_pays(
    scene: Scene, gpus: CappedGpus
) -> None:
    batch, urgent = two_jobs(scene)
    until_measured(scene)
    assert cap_of(scene, batch) is None
    began = time.monotonic()
    gpus.busy_watts = 600
    until(lambda: cap_of(scene, batch) is not None, "the job of low priority is capped", scene)
    until(lambda: gpus.watts <= 4500, "the domain is within its budget", scene)
    assert 0 < gpus.longest_above(4500, since=began) < OVERSHOOT_SECONDS
    assert cap_of(scene, urgent) is None
    scene.until(DOMAIN, cappedNodes=1, payers=[f"TrainingJob/{scene.namespace}/batch"])
    until(lambda: scene.status(DOMAIN)["measuredWatts"] <= 4500, "it says so", scene)
    until(lambda: conditions(scene.status(DOMAIN)).get("CapsApplied") == "True", "set", scene)
    until(lambda: "row-a" in reported_of(scene, "PowerCapped"), "an event says so", scene)
    until(lambda: conditions(scene.status(batch)).get("PowerCapped") == "True", "it knows", scene)
    assert "PowerCapped" not in conditions(scene.status(urgent))


@pytest.mark.slow
def test_when_a_feed_is_lost_caps_save_what_they_can_and_only_the_rest_is_taken_away(
    scene: Scene, gpus: CappedGpus
) -> None:
    batch, urgent = two_jobs(scene)
    until_measured(scene)
    pods = scene.running(batch).uids | scene.running(urgent).uids
    began = time.monotonic()
    scene.edit(DOMAIN, {"budgetWatts": 2600})
    until(lambda: gpus.watts <= 2600, "caps are enough", scene)
    assert gpus.longest_above(2600, since=began) < OVERSHOOT_SECONDS
    assert (cap_of(scene, batch), pods) == (
        200,
        scene.running(batch).uids | scene.running(urgent).uids,
    )

    began = time.monotonic()
    scene.edit(DOMAIN, {"budgetWatts": 1500})
    until(lambda: gpus.watts <= 1500, "the job of low priority has gone", scene)
    assert gpus.longest_above(1500, since=began) < OVERSHOOT_SECONDS
    status = scene.until(batch, reason="CannotFit")
    assert "more than power domain row-a has left" in status["message"]
    assert scene.running(urgent).uids <= pods


@pytest.mark.slow
def test_without_preempt_workers_are_taken_but_no_job_is_stopped(
    scene: Scene, gpus: CappedGpus
) -> None:
    batch = a_training_job("batch", workers=(1, 4))
    urgent = a_training_job("urgent", workers=(1, 4), priorityClassName="urgent")
    scene.apply(batch, urgent)
    for job in (batch, urgent):
        scene.until(job, workerCount=4)
        scene.running(job)
    until_measured(scene)
    scene.edit(DOMAIN, {"budgetWatts": 1500, "reaction": {"order": ["Cap", "Shrink"]}})
    scene.until(batch, workerCount=3)
    assert scene.status(urgent)["workerCount"] == 4
    until(lambda: gpus.watts <= 1500, "caps and fewer workers are enough", scene)

    scene.edit(DOMAIN, {"budgetWatts": 700})
    for job in (batch, urgent):
        scene.until(job, workerCount=1)
    until(lambda: scene.status(DOMAIN)["budgetWatts"] > 700, "plans give out the least", scene)
    for job in (batch, urgent):
        assert len(scene.running(job).nodes) == 1
        assert scene.events(job, "Resized")
        assert "Evicted" not in {event["reason"] for event in scene.all_events(job)}


@pytest.mark.slow
def test_without_a_measurement_nothing_moves_and_it_is_reported(
    scene: Scene, gpus: CappedGpus
) -> None:
    batch, urgent = two_jobs(scene)
    gpus.busy_watts = 600
    until(lambda: cap_of(scene, batch) is not None, "it is capped", scene)
    until(lambda: gpus.watts <= 4500, "the domain is within its budget", scene)
    gpus.broken = True
    until(
        lambda: conditions(scene.status(DOMAIN)).get("PowerMeasured") == "False", "reported", scene
    )
    assert scene.operator.metric("plimsoll_power_unknown", domain="row-a") == 1
    held, pods = cap_of(scene, batch), scene.running(batch).uids
    asked = "plimsoll_prometheus_queries_total"
    seen = scene.operator.metric(asked, query="gpu_power")
    gpus.busy_watts = 300
    until(lambda: scene.operator.metric(asked, query="gpu_power") > seen + 8, "it lasts", scene)
    assert (cap_of(scene, batch), cap_of(scene, urgent), scene.running(batch).uids) == (
        held,
        None,
        pods,
    )
    assert {each.caps["n-1"] or each.caps["n-2"] for each in gpus.history[-20:]} == {str(held)}
    gpus.broken = False
    until_measured(scene)


@pytest.mark.slow
def test_a_restarted_operator_goes_on_and_caps_are_lifted_after_a_calm_minute(
    scene: Scene, gpus: CappedGpus
) -> None:
    batch, _ = two_jobs(scene)
    gpus.busy_watts = 600
    until(lambda: cap_of(scene, batch) is not None, "it is capped", scene)
    until(lambda: gpus.watts <= 4500, "the domain is within its budget", scene)
    held = cap_of(scene, batch)
    scene.operator.kill()
    restarted = time.monotonic()
    scene.operator.start()
    until(lambda: scene.operator.metric("plimsoll_capped_nodes") == 1, "it knows the cap", scene)
    until_measured(scene)
    assert cap_of(scene, batch) == held
    assert gpus.longest_above(4500, since=restarted) == 0

    calm = time.monotonic()
    gpus.busy_watts = 400
    until(lambda: scene.status(DOMAIN).get("calmSince"), "it is calm", scene)
    until(lambda: cap_of(scene, batch) != held, "the cap is loosened", scene)
    assert time.monotonic() - calm >= 55
    until(lambda: cap_of(scene, batch) is None, "the cap is lifted", scene)
    assert gpus.longest_above(4500, since=calm) == 0
    until(lambda: "row-a" in reported_of(scene, "PowerReleased"), "an event says so", scene)
