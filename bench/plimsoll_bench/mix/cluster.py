"""A mix problem as the objects of a cluster: services with a load, nodes, pools and their limits.

Each GPU profile ("2 x A100") is a pool of its own, whose nodes offer `PER_NODE` replicas' worth of
it, and counts as a GPU type. The profiles of one type share its supply: that is the budget of a
power domain, in which a GPU in use draws a kilowatt. Energy has no price.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.resource import Resource
from plimsoll.kube.objects.objects import Node, PriorityClass
from plimsoll.observe.observer import Objects
from plimsoll.planning.cluster.power_model import DRAW_PERCENT
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.estimate.mix.problem import MixProblem, Model, Option, PoolName

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NAMESPACE = "services"
PER_NODE = 8
DOLLAR = 10**6
GPU_WATTS = 1000
"""What a GPU draws in typical use; as a service uses it, `DRAW_PERCENT["Mixed"]` of that."""


def gpu_type_of(option: Option) -> str:
    """The name under which a profile is a GPU type of the cluster."""
    return f"{option.gpus}x{re.sub(r'[^A-Za-z0-9.-]', '-', option.pool)}-{option.microdollars}"


def job_name(place: int) -> str:
    """The name of the service of the model at this place of the problem."""
    return f"model-{place:04}"


def objects_of(problem: MixProblem) -> Objects:
    """All that the API server would list."""
    options = {gpu_type_of(o): o for model in problem.models for o in model.options}
    resources = [
        *_policy(),
        *(_pool(name, option) for name, option in options.items()),
        *(_domain(pool, gpus) for pool, gpus in problem.supply.items() if gpus),
        *(_service(place, model) for place, model in enumerate(problem.models) if any(model.loads)),
    ]
    nodes = [node for name, o in options.items() for node in _nodes(problem, name, o)]
    return Objects(
        nodes=[msgspec.convert(_stored(each), Node) for each in nodes],
        pods=[],
        resources=[_resource(each) for each in resources],
        priority_classes=[
            msgspec.convert(
                _stored({"metadata": {"name": _class(priority)}, "value": priority}), PriorityClass
            )
            for priority in problem.priorities
        ],
    )


def _class(priority: int) -> str:
    return f"priority-{priority}"


def _policy() -> Iterator[Manifest]:
    weights = {"usefulWork": 1, "money": 1, "energy": 0}
    yield {
        "kind": "PlacementPolicy",
        "metadata": {"name": "default"},
        "spec": {"objective": {"weights": weights}},
    }


def _pool(name: str, option: Option) -> Manifest:
    watts = option.gpus * GPU_WATTS
    power = {"idleWatts": 0, "typicalWatts": watts, "limitWatts": watts, "minCapWatts": watts}
    spec = {
        "nodeSelector": {"profile": name},
        "pricePerGPUHour": f"{option.microdollars / DOLLAR:.6f}",
        "power": power,
    }
    return {"kind": "GPUPool", "metadata": {"name": name.lower()}, "spec": spec}


def _domain(pool: PoolName, gpus: int) -> Manifest:
    watts = gpus * GPU_WATTS * DRAW_PERCENT["Mixed"] // 100
    spec = {"nodeSelector": {"supply": _label(pool)}, "budgetWatts": watts, "quantile": "0.5"}
    return {"kind": "PowerDomain", "metadata": {"name": _label(pool).lower()}, "spec": spec}


def _label(pool: PoolName) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "-", pool)


def _nodes(problem: MixProblem, name: str, option: Option) -> Iterator[Manifest]:
    """Nodes for as many replicas of a profile as there is supply or load for."""
    useful = sum(_most_needed(model, name) for model in problem.models)
    left = min(problem.supply.get(option.pool, 0) // option.gpus, useful)
    number = 0
    while left > 0:
        here = min(left, PER_NODE)
        labels = {
            "profile": name,
            "supply": _label(option.pool),
            "nvidia.com/gpu.product": name,
            "nvidia.com/gpu.count": str(here),
            "nvidia.com/gpu.present": "true",
        }
        yield fake_node(
            f"{name.lower()}-{number:05}",
            gpus=0,
            labels=labels,
            resources={"nvidia.com/gpu": str(here)},
        )
        left, number = left - here, number + 1


def _most_needed(model: Model, name: str) -> int:
    """The most replicas of a profile that a model could make use of."""
    return sum(
        sum(
            -(-load // carries)
            for load, carries in zip(model.loads, o.carries, strict=True)
            if carries
        )
        for o in model.options
        if gpu_type_of(o) == name
    )


def _service(place: int, model: Model) -> Manifest:
    """A model's service, with its load as it stands in the status once it is measured."""
    most = max(1, *(_most_needed(model, gpu_type_of(o)) for o in model.options), 1)
    profiles = [
        {"type": gpu_type_of(option), "bucket": f"size-{bucket}", "load": carries}
        for option in model.options
        for bucket, carries in enumerate(option.carries)
        if carries
    ]
    role = {
        "name": "server",
        "replicas": {"min": 0, "max": most},
        "gpusPerReplica": 1,
        "template": {"spec": {"containers": [{"name": "main", "image": "serve"}]}},
        "profiles": profiles,
    }
    return {
        "kind": "InferenceJob",
        "metadata": {"name": job_name(place), "namespace": NAMESPACE},
        "spec": {"priorityClassName": _class(model.priority), "roles": [role]},
        "status": {"roles": [{"name": "server", "loads": _loads(model.loads)}]},
    }


def _loads(loads: Sequence[int]) -> list[Manifest]:
    return [
        {
            "bucket": f"size-{bucket}",
            "observed": load,
            "forecast": load,
            "wanted": load,
            "since": NOW.isoformat(),
        }
        for bucket, load in enumerate(loads)
    ]


def _stored(manifest: Manifest) -> Manifest:
    meta = manifest["metadata"]
    known = {
        "uid": f"uid-{manifest.get('kind', '')}-{meta['name']}",
        "resourceVersion": "1",
        "creationTimestamp": (NOW - timedelta(hours=1)).isoformat(),
        "generation": 1,
    }
    return {**manifest, "metadata": {**known, **meta}}


def _resource(manifest: Manifest) -> Resource:
    return KIND_BY_NAME[manifest["kind"]].model_validate(_stored(manifest))
