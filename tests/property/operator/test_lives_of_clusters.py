"""What must hold in the life of a cluster, whatever comes and goes and however it is planned."""

import tempfile
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.acting.step import Step
from plimsoll.cli.inputs.sources import described
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.planning.problem.build import wants_place
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, T4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from support.clusters.simulated_cluster import SimulatedCluster
from support.clusters.snapshot_files import input_of, snapshot_of
from support.objects.job_manifests import (
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_training_job,
    an_inference_job,
)

TURNS = 12
QUEUES = ("default", "owner", "guest")
POWER = {"idleWatts": 50, "typicalWatts": 500, "limitWatts": 600}
NOTICE = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


def a_cluster(rng: Random) -> SimulatedCluster:
    cluster = SimulatedCluster(Effort(rng.choice((0, 0, 0.05))))
    for manifest in (
        a_priority_class("high", 100),
        a_priority_class("low", -5),
        a_queue("owner", guaranteed=rng.choice((0, 4, 6))),
        a_queue("guest", limit=rng.choice((None, 6))),
        a_pool("all", {"type": "kwok"}, power=POWER),
        a_power_domain("row-a", {"row": "a"}, budget_watts=rng.choice((2000, 20_000))),
    ):
        cluster.apply(manifest)
    for index in range(rng.randint(2, 4)):
        cluster.apply(a_node(rng, index))
    for index in range(4):
        cluster.apply(a_job(rng, 100 + index))
    return cluster


def a_node(rng: Random, index: int) -> Manifest:
    gpu_type = rng.choice((H100, H100, H100, A100, T4))
    shared = 4 if gpu_type == T4 else 1
    labels = {"row": rng.choice("ab"), "plimsoll.dev/rack": rng.choice("xy")}
    return fake_node(
        f"node-{index}", gpu_type, rng.choice((2, 6)), replicas=shared, cpu="16", labels=labels
    )


def a_job(rng: Random, index: int) -> Manifest:
    spec: Manifest = {"queue": rng.choice(QUEUES)}
    if rng.random() < 0.4:
        spec["priorityClassName"] = rng.choice(("high", "low"))
    name = f"job-{index}"
    if rng.random() < 0.35:
        least = rng.randint(0, 3)
        gpus, types = rng.choice(((1, (H100, A100)), ("0.25", (T4,))))
        loads = dict.fromkeys(types, 1)
        role = {"replicas": {"min": least, "max": 4}}
        return an_inference_job(name, gpus=gpus, loads=loads, role=role, **spec)
    least, more = rng.randint(1, 3), rng.randint(0, 4)
    rates = {H100: 2 * least, A100: least} if rng.random() < 0.5 else {H100: least}
    disruption = {"minRuntime": rng.choice(("0s", "0s", "10m"))}
    topology = {"required": rng.choice((None, None, "plimsoll.dev/rack"))}
    return a_training_job(
        name,
        workers=(least, least + more),
        gpus=rng.choice((1, 1, 2)),
        rates=rates,
        disruption=disruption,
        topology=topology,
        **spec,
    )


def happening(rng: Random, cluster: SimulatedCluster, number: int) -> str:
    """Something happens to the cluster; what."""
    jobs = sorted(uid for uid in cluster.resources if "Job/" in uid)
    names = sorted(cluster.nodes)
    events: list[tuple[str, Callable[[], None]]] = [
        *(3 * [("a job comes", lambda: cluster.apply(a_job(rng, number)))]),
        ("a node comes", lambda: cluster.apply(a_node(rng, 10 + number))),
        ("time passes", lambda: cluster.pass_time(timedelta(minutes=rng.choice((1, 11))))),
        ("the operator is restarted", cluster.restart),
    ]
    if jobs:
        kind, _, name = rng.choice(jobs).partition("/")
        events.append(("a job goes", lambda: cluster.remove(kind, name)))
    if names:
        node = rng.choice(names)
        events += [
            ("a node goes", lambda: cluster.remove("Node", node)),
            ("a node is cordoned", lambda: marked(cluster, node, {"unschedulable": True})),
            ("a node has a notice", lambda: marked(cluster, node, {"taints": [NOTICE]})),
            ("a node is well again", lambda: marked(cluster, node, {})),
        ]
    what, happen = rng.choice(events)
    happen()
    return what


def marked(cluster: SimulatedCluster, node: str, spec: Manifest) -> None:
    cluster.apply({**cluster.nodes[node], "spec": spec})


def until_quiet(cluster: SimulatedCluster) -> list[Step]:
    """Turn until nothing is left to write; all that was written."""
    written: list[Step] = []
    for _ in range(TURNS):
        steps = cluster.turn()
        if not steps:
            return written
        written += steps
        # What was reported a moment ago is reported again only later.
        cluster.pass_time(timedelta(seconds=20))
    raise AssertionError(f"no rest: {[(s.job.name, s.status.reason) for s in written[-4:]]}")


def require_that_all_is_well(cluster: SimulatedCluster) -> None:
    require_that_nothing_is_given_twice(cluster)
    usable = {node.name for node in cluster.snapshot().nodes if node.state.usable}
    for view in cluster.snapshot().jobs:
        status = view.resource.status
        places = status.placement.assignments if status.placement else ()
        placements = sorted((p.role, p.replica, node) for p in places for node in p.nodes)
        assert sorted((pod.role, pod.replica, pod.node) for pod in view.pods) == placements
        assert {node for _, _, node in placements} <= usable
        assert wants_place(view)
        assert status.reason in set(Reason), view.name
        assert status.message, view.name


def require_that_nothing_is_given_twice(cluster: SimulatedCluster) -> None:
    taken: dict[tuple[str, str], int] = defaultdict(int)
    for pod in cluster.pods.values():
        requests = effective_requests(pod.spec)
        taken[pod.spec.node_name, "cpu"] += requests.cpu_millis
        for resource, units in requests.others.items():
            taken[pod.spec.node_name, resource] += units
    for view in cluster.snapshot().nodes:
        assert taken[view.name, "cpu"] <= view.cpu_millis
        for offer in view.offers:
            units = offer.count * offer.units_per_device
            assert taken[view.name, offer.resource] <= units, view.name


FEWER = settings(max_examples=settings().max_examples // 2)
seeds = st.integers(0, 2**32 - 1).map(Random)


@pytest.mark.slow
@FEWER
@given(seeds)
def test_whatever_happens_the_cluster_comes_to_rest_and_all_is_reported(rng: Random) -> None:
    cluster = a_cluster(rng)
    history: list[str] = []
    for number in range(8):
        history.append(happening(rng, cluster, number))
        try:
            until_quiet(cluster)
            require_that_all_is_well(cluster)
        except AssertionError as error:
            raise AssertionError(f"after {history}: {error}") from error


@FEWER
@given(seeds)
def test_an_operator_that_starts_again_writes_nothing(rng: Random) -> None:
    cluster = a_cluster(rng)
    for number in range(5):
        happening(rng, cluster, number)
        until_quiet(cluster)
    cluster.restart()
    assert [(step.job.name, step.status.message) for step in cluster.turn()] == []


@FEWER
@given(seeds)
def test_a_job_that_cannot_run_disturbs_nobody(rng: Random) -> None:
    cluster = a_cluster(rng)
    for number in range(5):
        happening(rng, cluster, number)
        until_quiet(cluster)
    before = dict(cluster.pods)
    cluster.apply(a_training_job("too-large", gpus=99, priorityClassName="high"))
    until_quiet(cluster)
    assert cluster.pods == before


@pytest.mark.slow
@settings(max_examples=2 * settings().max_examples // 5)
@given(seeds)
def test_a_snapshot_that_is_read_again_is_the_same_question(rng: Random) -> None:
    cluster = a_cluster(rng)
    for number in range(4):
        happening(rng, cluster, number)
        until_quiet(cluster)
    happening(rng, cluster, 4)
    with tempfile.TemporaryDirectory() as folder:
        file = snapshot_of(cluster.objects(), Path(folder))
        again = described([str(file)], (), cluster.now, may_be_empty=True)
    assert input_of(again.objects, cluster.now) == input_of(cluster.objects(), cluster.now)
