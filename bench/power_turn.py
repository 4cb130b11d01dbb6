"""How long a turn's power work takes on a large cluster with many power domains.

    python bench/power_turn.py --nodes 10000 --domains 50 --seed 1

Each node of eight GPUs is in a row and in a hall, which are domains, five rows to a hall. Training
jobs of 1 to 8 nodes hold nine nodes of ten. All nodes are measured; a third of the domains draw
more than they may, and a third have caps already. Each of `--turns` turns has a snapshot and a
reading of its own. Measured are the budgets and the orders of domains (`budgets`), the reactions
and which caps change by them (`caps`), and the statuses of domains and pools (`statuses`):
milliseconds of CPU time, median over turns. Nothing is solved and nothing written. Prints one JSON
object.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.acting.cluster.power_status import count_power
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.resource import Resource
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Plan
from plimsoll.planning.capping.reaction import cap_changes, power_reactions
from plimsoll.planning.power.budget import planned_budgets
from plimsoll.planning.power.shedding import shedding
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_bench.output import print_json
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Outcome

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MOST_NODES, ROWS_OF_HALL, GPUS = 8, 5, 8
IDLE, TYPICAL, LIMIT, CAP = 100, 500, 700, 400
POWER = {"idleWatts": IDLE, "typicalWatts": TYPICAL, "limitWatts": LIMIT, "minCapWatts": 200}
PLAN = Plan(NOW, (), (), 0.0, Outcome.GREEDY, 0)
PARTS = ("budgets", "caps", "statuses")


@dataclass
class Cluster:
    """The objects of a cluster and what its nodes draw."""

    rng: Random
    domains: int
    jobs: list[Manifest] = field(default_factory=list[Manifest])
    pods: list[Manifest] = field(default_factory=list[Manifest])
    nodes: list[Manifest] = field(default_factory=list[Manifest])

    def add_nodes(self, count: int) -> None:
        """Nodes in rows and halls; every third row has caps."""
        rows = self.rows
        for index in range(count):
            row = index % rows
            labels = {"row": f"row-{row}", "hall": f"hall-{row // ROWS_OF_HALL}", "pool": "p"}
            node = fake_node(f"node-{index:05}", gpus=GPUS, labels=labels)
            if row % 3 == 0:
                limits = ",".join([str(CAP)] * GPUS)
                noted = {"power-cap-watts": str(CAP), "power-limit-watts": limits}
                notes = {f"plimsoll.dev/{key}": value for key, value in noted.items()}
                node["metadata"]["annotations"] = notes
            self.nodes.append(node)

    @property
    def rows(self) -> int:
        """How many of the domains are rows; the others are halls of rows."""
        counts = range(self.domains, 0, -1)
        return next(n for n in counts if n == 1 or n + -(-n // ROWS_OF_HALL) <= self.domains)

    def add_jobs(self) -> None:
        """Gangs on nine nodes of ten, side by side."""
        names = [node["metadata"]["name"] for node in self.nodes]
        used = names[: len(names) * 9 // 10]
        while used:
            size = self.rng.randint(1, MOST_NODES)
            here, used = used[:size], used[size:]
            name = f"job-{len(self.jobs):05}"
            self.jobs.append(_job(name, here))
            self.pods += [_pod(name, replica, node) for replica, node in enumerate(here)]

    def resources(self) -> Iterator[Manifest]:
        """The pool and the domains."""
        selector = {"nodeSelector": {"pool": "p"}, "power": POWER}
        yield {"kind": "GPUPool", "metadata": {"name": "p"}, "spec": selector}
        rows = self.rows
        halls = -(-rows // ROWS_OF_HALL)
        whole = len(self.nodes) * GPUS * TYPICAL
        for kind, count in (("row", rows), ("hall", halls)):
            for index in range(count):
                name = f"{kind}-{index}"
                share = 0.85 if index % 3 == 1 else 1.1
                budget = int(share * whole / count)
                spec = {"nodeSelector": {kind: name}, "budgetWatts": budget}
                yield {"kind": "PowerDomain", "metadata": {"name": name}, "spec": spec}

    def snapshot(self) -> Snapshot:
        """The cluster as the observer sees it."""
        resources = [*map(_resource, self.resources()), *map(_resource, self.jobs)]
        objects = Objects(
            nodes=[msgspec.convert(each, Node) for each in map(_stored, self.nodes)],
            pods=[msgspec.convert(each, Pod) for each in map(_stored, self.pods)],
            resources=resources,
            priority_classes=[],
            budgets=[],
            namespaces=[],
        )
        return Observer().snapshot(objects, NOW)

    def reading(self, snapshot: Snapshot, now: datetime) -> PowerReading:
        """What all nodes draw at a moment; all GPUs deviate alike."""
        common = self.rng.uniform(0.95, 1.05)
        busy = {pod["spec"]["nodeName"] for pod in self.pods}
        nodes = {
            node.name: GPUS
            * min(CAP if node.cap_watts else LIMIT, TYPICAL * common if node.name in busy else IDLE)
            for node in snapshot.nodes
        }
        domains = {
            domain.metadata.name: float(
                sum(
                    nodes[node.name]
                    for node in snapshot.nodes
                    if domain.spec.node_selector.items() <= node.labels.items()
                )
            )
            for domain in snapshot.power_domains
        }
        return PowerReading(now, domains, nodes)


def _stored(manifest: Manifest) -> Manifest:
    meta = manifest["metadata"]
    created = (NOW - timedelta(hours=1)).isoformat()
    known = {"uid": f"uid-{meta['name']}", "resourceVersion": "1", "creationTimestamp": created}
    return {**manifest, "metadata": {**known, "generation": 1, **meta}}


def _resource(manifest: Manifest) -> Resource:
    return KIND_BY_NAME[manifest["kind"]].model_validate(_stored(manifest))


def _job(name: str, nodes: list[str]) -> Manifest:
    """A running gang, one worker on each node."""
    count = len(nodes)
    container = {"name": "main", "image": "train"}
    workers = {
        "min": count,
        "max": count,
        "gpusPerWorker": GPUS,
        "template": {"spec": {"containers": [container]}},
    }
    points = [{"workers": count, "rate": count}]
    places = [
        {
            "role": "worker",
            "replica": replica,
            "nodes": [node],
            "pool": "p",
            "acceleratorType": H100,
            "revision": 1,
        }
        for replica, node in enumerate(nodes)
    ]
    placement = {
        "revision": 1,
        "acceleratorType": H100,
        "pool": "p",
        "workers": count,
        "assignments": places,
    }
    return {
        "kind": "TrainingJob",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"workers": workers, "accelerators": [{"type": H100, "throughput": points}]},
        "status": {"placement": placement, "revision": 1},
    }


def _pod(job: str, replica: int, node: str) -> Manifest:
    said = {"job-name": job, "job-kind": "TrainingJob", "job-uid": f"uid-{job}", "role": "worker"}
    said |= {"replica": str(replica), "rank": "0", "revision": "1"}
    labels = {f"plimsoll.dev/{key}": value for key, value in said.items()}
    return {
        "kind": "Pod",
        "metadata": {"name": f"{job}-worker-{replica}", "namespace": "team", "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "main"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn took by part, in milliseconds, and how many caps and statuses changed."""

    milliseconds: dict[str, float]
    caps: int
    statuses: int


def turn_of(snapshot: Snapshot, problem: Problem, unbound: Problem) -> Turn:
    """Do everything that a turn does about power."""
    began = time.process_time()
    shedding(planned_budgets(unbound, snapshot).apply(unbound), snapshot)
    asked = time.process_time()
    reactions = power_reactions(snapshot, problem)
    changes = len(list(cap_changes(snapshot, reactions)))
    capped = time.process_time()
    count_power(reactions, snapshot)
    statuses = len(list(cluster_statuses(snapshot, problem, PLAN, reactions)))
    reported = time.process_time()
    took = (asked - began, capped - asked, reported - capped)
    return Turn({p: 1000 * t for p, t in zip(PARTS, took, strict=True)}, changes, statuses)


def turns(cluster: Cluster, count: int) -> Iterator[Turn]:
    """What this many turns take, a minute apart."""
    first = cluster.snapshot()
    problem = plan_input_of(first, ProblemBuilder()).problem
    for number in range(count):
        now = NOW + number * timedelta(minutes=1)
        yield turn_of(replace(first, now=now, power=cluster.reading(first, now)), problem, problem)


def main() -> None:
    """Run the turns and print the figures."""
    parser = argparse.ArgumentParser(description="How long a turn takes for power.")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--domains", type=int, default=50)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cluster = Cluster(Random(options.seed), options.domains)
    cluster.add_nodes(options.nodes)
    cluster.add_jobs()
    found = list(turns(cluster, options.turns))
    medians = {
        part: round(statistics.median(turn.milliseconds[part] for turn in found), 1)
        for part in PARTS
    }
    whole = statistics.median(sum(turn.milliseconds.values()) for turn in found)
    figures = {
        "nodes": options.nodes,
        "domains": len([*cluster.resources()]) - 1,
        "jobs": len(cluster.jobs),
        "pods": len(cluster.pods),
        "turns": options.turns,
        "cap_changes": [turn.caps for turn in found],
        "statuses": [turn.statuses for turn in found],
        "median_ms": {**medians, "all": round(whole, 1)},
    }
    print_json(figures, indent=2)


if __name__ == "__main__":
    main()
