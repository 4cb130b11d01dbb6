"""An instance on the operator's own planning path: services and nodes in, places out.

Each model is an InferenceJob with one replica of a part of a GPU, its weights, its rate and its
latency objective; each GPU is a node that time-slicing shares among up to 20. A gigabyte of the
instance is a GiB, so that a node's label can say its memory.
"""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import msgspec

from plimsoll.api.inference_job import InferenceJob
from plimsoll.kube.objects.objects import Node
from plimsoll.observe.observer import Objects, Observer
from plimsoll.planning.actions import Admit, Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.problem.effort import effort
from plimsoll_bench.sharing.models import Groups, Instance, Model
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import require_sound
from plimsoll_placement.solve import solve_lean

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SECONDS = "1970-01-01T00:00:00Z"
GIB_IN_MIB = 1024
MOST_SHARERS = 20


def objects(instance: Instance) -> Objects:
    """The nodes and services of an instance."""
    sharers = min(max(2, len(instance.models)), MOST_SHARERS)
    nodes = [_node(place, instance.memory_gb, sharers) for place in range(instance.gpus)]
    jobs = [_job(model, sharers) for model in instance.models]
    return Objects(
        nodes=[msgspec.convert(node, Node, strict=False) for node in nodes],
        pods=(),
        resources=[InferenceJob.model_validate(job) for job in jobs],
    )


def planned(seen: Objects, most_states: int) -> Plan:
    """The plan for them, from a first look at the cluster on."""
    snapshot = Observer().snapshot(seen, NOW)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    spent = replace(effort(snapshot), sharing_states=most_states)
    solution = solve_lean(plan_input.problem, spent)
    require_sound(plan_input.problem, solution.placements)
    return plan_of(snapshot, PlanResult(plan_input, solution))


def groups(plan: Plan, instance: Instance) -> Groups:
    """The models on each node that has any, as the plan admits them."""
    found: dict[str, list[str]] = {}
    for change in plan.changes:
        if isinstance(change, Admit):
            model = change.job.rpartition("/")[2]
            for assignment in change.assignments:
                for node in assignment.nodes:
                    found.setdefault(node, []).append(model)
    order = {model.name: place for place, model in enumerate(instance.models)}
    return tuple(tuple(sorted(found[node], key=lambda m: order[m])) for node in sorted(found))


def _node(place: int, memory_gb: Fraction, sharers: int) -> Manifest:
    labels = {"nvidia.com/gpu.memory": str(round(memory_gb * GIB_IN_MIB))}
    node = fake_node(f"gpu-{place:04}", A100, 1, replicas=sharers, labels=labels)
    ready = {"type": "Ready", "status": "True"}
    return {**node, "status": {**node["status"], "conditions": [ready]}}


def _job(model: Model, sharers: int) -> Manifest:
    """A service with one replica that carries its whole rate within its objective."""
    rate = f"{float(model.rate):f}"
    role = {
        "name": "server",
        "replicas": {"min": 1, "max": 1},
        "gpusPerReplica": f"0.{1000 // sharers:03}",
        "weightsMemory": f"{round(model.size_gb * GIB_IN_MIB)}Mi",
        "template": {"spec": {"containers": [{"name": "server", "image": "vllm/vllm-openai"}]}},
        "profiles": [{"type": A100, "load": "1000000"}],
    }
    load = {"bucket": "any", "wanted": rate, "since": SECONDS}
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "InferenceJob",
        "metadata": {
            "name": model.name,
            "namespace": "team",
            "uid": model.name,
            "generation": 1,
            "creationTimestamp": SECONDS,
        },
        "spec": {"roles": [role], "slo": {"latency": f"{round(model.slo * 1000)}ms"}},
        "status": {"roles": [{"name": "server", "loads": [load]}]},
    }
