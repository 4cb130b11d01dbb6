"""What an operator remembers from turn to turn changes nothing of what it sees and plans."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.labels import JOB_UID, REPLICA, REVISION
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from support.clusters.simulated_cluster import SimulatedCluster
from support.objects.job_manifests import (
    a_gpu_pod,
    a_pool,
    a_priority_class,
    a_queue,
    a_training_job,
    an_inference_job,
    without_speeds,
)

TURNS = 14


class Life:
    """A cluster to which something happens in each turn, and all that its workers have reported."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.cluster = rng, SimulatedCluster(Effort(0))
        self.reports: dict[str, WorkerReport] = {}
        self.foreign: dict[str, Pod] = {}
        for manifest in (a_priority_class("high", 100), a_queue("owner", guaranteed=4)):
            self.cluster.apply(manifest)
        for index in range(3):
            self.add_node(index)
            self.add_job(100 + index)

    def objects(self) -> Objects:
        """All that is known; what has not changed is the same object."""
        known = self.cluster.objects()
        pods = (*known.pods, *self.foreign.values())
        return replace(known, pods=pods, reports=tuple(self.reports.values()))

    def happens(self, number: int) -> None:
        """One of all that may happen to a cluster."""
        self.rng.choice(
            (
                lambda: self.add_node(number),
                lambda: self.add_job(number),
                lambda: self.cluster.apply(a_queue("owner", guaranteed=self.rng.randint(0, 6))),
                self.change_pool,
                lambda: self.cluster.classes.pop("high", None),
                self.change_node,
                self.change_devices,
                self.change_labels,
                self.remove_something,
                self.change_foreign_pod,
                self.report,
                self.report,
                self.complete,
                lambda: None,
            )
        )()
        self.cluster.pass_time(timedelta(seconds=self.rng.choice((0, 5, 61, 301, 4000))))
        if self.rng.random() < 0.8:
            self.cluster.turn()

    def add_node(self, number: int) -> None:
        kind = self.rng.choice((H100, H100, A100))
        self.cluster.apply(fake_node(f"node-{number}", kind, self.rng.choice((2, 6)), cpu="16"))

    def add_job(self, number: int) -> None:
        rng, name = self.rng, f"job-{number}"
        spec: Manifest = {"queue": rng.choice(("default", "owner", "missing"))}
        if rng.random() < 0.3:
            spec["priorityClassName"] = "high"
        if rng.random() < 0.3:
            role = {"replicas": {"min": 1, "max": 4}}
            self.cluster.apply(an_inference_job(name, loads={H100: 1}, role=role, **spec))
        else:
            rates, least = {H100: 2, A100: 1}, rng.randint(1, 3)
            job = a_training_job(name, workers=(least, 4), rates=rates, **spec)
            self.cluster.apply(rng.choice((job, job, without_speeds(job))))

    def change_node(self) -> None:
        """A node falls silent, comes back, or is cordoned."""
        name = self.rng.choice([*self.cluster.nodes])
        node, since = self.cluster.nodes[name], self.cluster.now.isoformat()
        ready = {"type": "Ready", "status": self.rng.choice(("True", "False", "Unknown"))}
        status = {**node["status"], "conditions": [{**ready, "lastTransitionTime": since}]}
        spec = {"unschedulable": self.rng.random() < 0.3}
        self.cluster.apply({**node, "spec": spec, "status": status})

    def change_devices(self) -> None:
        """A node's device plugin starts, stops or reports another number."""
        name = self.rng.choice([*self.cluster.nodes])
        node, gpus = self.cluster.nodes[name], self.rng.choice((0, 0, 2, 6))
        offered = {**node["status"]["allocatable"], "nvidia.com/gpu": str(gpus)}
        if not gpus:
            del offered["nvidia.com/gpu"]
        status = {**node["status"], "capacity": offered, "allocatable": offered}
        self.cluster.apply({**node, "status": status})

    def change_labels(self) -> None:
        """A node is found to have another product, or loses a label."""
        name = self.rng.choice([*self.cluster.nodes])
        node = self.cluster.nodes[name]
        product = {"nvidia.com/gpu.product": self.rng.choice((H100, A100))}
        labels = {**node["metadata"]["labels"], **product}
        if self.rng.random() < 0.3:
            labels.pop("type", None)
        self.cluster.apply({**node, "metadata": {**node["metadata"], "labels": labels}})

    def change_pool(self) -> None:
        """All nodes become a pool, or other terms apply to it."""
        price = str(self.rng.randint(1, 9))
        capacity = self.rng.choice(("OnDemand", "Spot"))
        terms = {"pricePerGPUHour": price, "capacityType": capacity}
        self.cluster.apply(a_pool("all", {"type": "kwok"}, **terms))

    def remove_something(self) -> None:
        names = [uid for uid in self.cluster.resources if "Job/" in uid]
        if len(self.cluster.nodes) > 1:
            names += [f"Node/{name}" for name in self.cluster.nodes]
        if names:
            kind, _, name = self.rng.choice(names).partition("/")
            self.cluster.remove(kind, name)

    def change_foreign_pod(self) -> None:
        """Somebody else's pod comes, or goes."""
        if self.foreign and self.rng.random() < 0.5:
            del self.foreign[self.rng.choice([*self.foreign])]
            return
        name = f"foreign-{len(self.foreign)}"
        node = self.rng.choice([*self.cluster.nodes])
        manifest = a_gpu_pod(name, node, gpus=1, cpu="2")
        self.foreign[name] = msgspec.convert(
            {**manifest, "metadata": {"name": name, "uid": name}}, Pod
        )

    def report(self) -> None:
        """A worker reports, or has not been heard of for too long."""
        if not self.cluster.pods:
            return
        pod = self.rng.choice([*self.cluster.pods.values()])
        meta, now = pod.metadata, self.cluster.now
        numbers = int(meta.labels[REPLICA]), int(meta.labels[REVISION])
        if self.reports and self.rng.random() < 0.2:
            del self.reports[self.rng.choice([*self.reports])]
        done = Decimal(self.rng.randint(0, 10**6))
        rate = Decimal(self.rng.randint(1, 9))
        report = WorkerReport(meta.name, meta.uid, meta.labels[JOB_UID], *numbers, now, done, rate)
        self.reports[meta.uid] = report

    def complete(self) -> None:
        """All pods of a job succeed."""
        pods = self.cluster.pods
        uids = sorted({pod.metadata.labels[JOB_UID] for pod in pods.values()})
        done = self.rng.choice(uids) if uids else ""
        for uid, pod in [*pods.items()]:
            if pod.metadata.labels[JOB_UID] == done:
                status = msgspec.structs.replace(pod.status, phase="Succeeded")
                pods[uid] = msgspec.structs.replace(pod, status=status)


lives = st.integers(0, 2**32 - 1).map(Random).map(Life)


@given(lives)
def test_a_snapshot_is_what_would_be_seen_for_the_first_time(life: Life) -> None:
    observer = Observer()
    for number in range(TURNS):
        life.happens(number)
        objects, now = life.objects(), life.cluster.now
        assert observer.snapshot(objects, now) == Observer().snapshot(objects, now)


@pytest.mark.slow
@given(lives)
def test_a_plan_is_made_of_what_would_be_asked_the_first_time(life: Life) -> None:
    observer, builder = Observer(), ProblemBuilder()
    for number in range(TURNS):
        life.happens(number)
        snapshot = observer.snapshot(life.objects(), life.cluster.now)
        again, first = plan_input_of(snapshot, builder), plan_input_of(snapshot, ProblemBuilder())
        assert again == first
        assert again.problem.jobs == first.problem.jobs


def _is_shared(some: Snapshot, other: Snapshot) -> bool:
    return some.nodes is other.nodes and some.jobs is other.jobs


@settings(max_examples=2 * settings().max_examples // 5)
@given(lives)
def test_what_has_not_changed_is_shared_with_the_last_snapshot(life: Life) -> None:
    observer = Observer()
    for number in range(TURNS):
        life.happens(number)
        objects, now = life.objects(), life.cluster.now
        assert _is_shared(observer.snapshot(objects, now), observer.snapshot(replace(objects), now))
