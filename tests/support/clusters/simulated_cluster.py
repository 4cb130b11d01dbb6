"""A cluster without an API server: what plans and steps write is carried out at once, and purely.

Pods run where they are sent as soon as they are made, and vanish as soon as they are deleted. Time
passes only when it is told to.
"""

import copy
import itertools
from datetime import datetime, timedelta
from typing import cast

import msgspec

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.kinds import KIND_BY_NAME, Job
from plimsoll.api.resource import Resource
from plimsoll.kube.objects.objects import Node, Pod, PriorityClass
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Plan
from plimsoll.planning.capping.reaction import power_reactions
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.validation import renewed, settled
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve
from support.clusters.seen import NAMESPACE, NOW


class SimulatedCluster:
    """Nodes, jobs and pods, and an operator's memory between turns."""

    def __init__(self, effort: Effort) -> None:
        self.now: datetime = NOW
        self.nodes: dict[str, Manifest] = {}
        self._read: dict[str, tuple[Manifest, Node]] = {}
        self.classes: dict[str, PriorityClass] = {}
        self.resources: dict[str, Resource] = {}
        self.pods: dict[str, Pod] = {}
        self._effort = effort
        self._numbers = itertools.count(1)
        self.restart()

    def restart(self) -> None:
        """Begin anew with what the cluster holds, as after a crash."""
        self._observer, self._translator, self._steps = Observer(), ProblemBuilder(), Steps()
        self._settled: Problem | None = None
        self._plan: Plan | None = None
        self.plans = 0

    def apply(self, manifest: Manifest) -> None:
        """Add an object, or change the spec of one that is there."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        if kind == "Node":
            self.nodes[name] = manifest
        elif kind == "PriorityClass":
            self.classes[name] = msgspec.convert(manifest, PriorityClass)
        else:
            self._apply_resource(f"{kind}/{name}", copy.deepcopy(manifest))

    def _apply_resource(self, uid: str, manifest: Manifest) -> None:
        before = self.resources.get(uid)
        meta = {
            "uid": uid,
            "namespace": NAMESPACE,
            "resourceVersion": str(next(self._numbers)),
            "generation": before.metadata.generation + 1 if before else 1,
            "creationTimestamp": (before.metadata.creation_timestamp if before else None)
            or self.now,
        }
        manifest["metadata"] |= meta
        after = KIND_BY_NAME[manifest["kind"]].model_validate(manifest)
        status = {"status": cast("Job", before).status} if before else {}
        self.resources[uid] = after.model_copy(update=status)

    def remove(self, kind: str, name: str) -> None:
        """Delete an object; with a job go its pods, with a node what ran there."""
        if kind == "Node":
            del self.nodes[name]
            self.pods = {u: pod for u, pod in self.pods.items() if pod.spec.node_name != name}
        else:
            del self.resources[f"{kind}/{name}"]
            self.pods = {u: p for u, p in self.pods.items() if _owner(p) != f"{kind}/{name}"}

    def objects(self) -> Objects:
        """What the API server would list."""
        return Objects(
            nodes=[self._node(name) for name in self.nodes],
            pods=[*self.pods.values()],
            resources=[*self.resources.values()],
            priority_classes=[*self.classes.values()],
        )

    def _node(self, name: str) -> Node:
        """A node, the same object until it is changed."""
        known, manifest = self._read.get(name), self.nodes[name]
        if known is None or known[0] is not manifest:
            known = self._read[name] = manifest, _node(manifest)
        return known[1]

    def snapshot(self) -> Snapshot:
        """The cluster at this moment."""
        return self._observer.snapshot(self.objects(), self.now)

    def turn(self) -> list[Step]:
        """Plan, act, and carry out what was written; the steps that wrote something."""
        snapshot = self.snapshot()
        plan_input = plan_input_of(snapshot, self._translator)
        changes = ()
        if self._plan is None or plan_input.problem != self._settled:
            result = PlanResult(plan_input, solve(plan_input.problem, self._effort))
            result, broken = renewed(result, plan_input)
            assert broken == ()
            self._plan, self._settled = plan_of(snapshot, result), settled(result)
            self.plans += 1
            changes = self._plan.changes
        waiting = {job.name for job in plan_input.problem.jobs if not job.running}
        holds = [hold for hold in self._plan.holds if hold.job in waiting]
        actions = (*holds, *plan_input.holds, *changes)
        turn = Turn(
            snapshot,
            Occupancy(snapshot),
            decided={action.job: action for action in actions},
            short=self._plan.short,
            off_spot=plan_input.off_spot,
        )
        steps = [step for step in self._steps.of(turn, frozenset()) if step.has_writes]
        for step in steps:
            self._carry_out(step)
        return steps

    def publish(self) -> int:
        """Write what queues, pools, domains and the policy say of themselves; how many did."""
        assert self._plan is not None
        snapshot = self.snapshot()
        plan_input = plan_input_of(snapshot, self._translator)
        problem = plan_input.problem
        reactions = power_reactions(snapshot, problem)
        statuses = list(cluster_statuses(snapshot, problem, self._plan, reactions))
        for resource, status in statuses:
            uid = f"{resource.kind}/{resource.metadata.name}"
            self.resources[uid] = resource.model_copy(update={"status": status})
        return len(statuses)

    def _carry_out(self, step: Step) -> None:
        # The spec that a job is planned by may be another one: see `plimsoll.observe.standing`.
        job = self.resources[step.job.uid]
        version = {"resource_version": str(next(self._numbers))}
        metadata = job.metadata.model_copy(update=version)
        self.resources[step.job.uid] = job.model_copy(
            update={"status": step.status, "metadata": metadata}
        )
        for pod in step.delete:
            del self.pods[pod.uid]
        for manifest in step.create:
            pod = self._made(manifest)
            assert pod.metadata.name not in {each.metadata.name for each in self.pods.values()}
            self.pods[pod.metadata.uid] = pod

    def _made(self, manifest: Manifest) -> Pod:
        pod = msgspec.convert(manifest, Pod, strict=False)
        uid = f"pod-{next(self._numbers)}"
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        assert affinity is not None
        assert affinity.required is not None
        [here] = {
            field.values for t in affinity.required.node_selector_terms for field in t.match_fields
        }
        metadata = msgspec.structs.replace(
            pod.metadata, uid=uid, resource_version="1", creation_timestamp=self.now
        )
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        return msgspec.structs.replace(
            pod,
            metadata=metadata,
            spec=msgspec.structs.replace(pod.spec, node_name=here[0]),
            status=msgspec.convert(running, type(pod.status)),
        )

    def pass_time(self, span: timedelta) -> None:
        """Let time pass."""
        self.now += span

    def jobs(self) -> list[Job]:
        """The jobs as they are."""
        return [view.resource for view in self.snapshot().jobs]


def _node(manifest: Manifest) -> Node:
    meta = {**manifest["metadata"], "uid": manifest["metadata"]["name"]}
    return msgspec.convert({**manifest, "metadata": meta}, Node)


def _owner(pod: Pod) -> str:
    return pod.metadata.labels["plimsoll.dev/job-uid"]
