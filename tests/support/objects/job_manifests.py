"""Jobs, queues, pools and so on as a user applies them; a test names only what it is about."""

from collections.abc import Mapping
from typing import Any

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest

CONTAINER: Manifest = {"name": "main", "image": "registry.example/main:1"}


def _manifest(kind: str, name: str, spec: Manifest) -> Manifest:
    head = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": kind, "metadata": {"name": name}}
    return {**head, "spec": spec}


def a_template(
    requests: Mapping[str, str] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    wishes: Mapping[str, str] | None = None,
    **pod: Any,  # noqa: ANN401 - fields of a pod's spec
) -> Manifest:
    """A pod template; `wishes` are annotations for what plays the kubelet."""
    notes = {f"plimsoll.dev/test-{wish}": value for wish, value in (wishes or {}).items()}
    container = {**CONTAINER, "resources": {"requests": dict(requests or {})}}
    return {
        "metadata": {"labels": dict(labels or {}), "annotations": notes},
        "spec": {"containers": [container], **pod},
    }


def a_training_job(  # noqa: PLR0913 - a builder: a test names only what it is about
    name: str,
    *,
    workers: int | tuple[int, int] = 1,
    gpus: int | str = 1,
    rates: Mapping[str, int | str | Mapping[int, int | str]] | None = None,
    template: Manifest | None = None,
    allowed: tuple[int, ...] = (),
    **spec: Any,  # noqa: ANN401 - fields of a job's spec
) -> Manifest:
    """A gang; `workers` may be (from, to), `rates` the least gang's by GPU type, or more points."""
    least, most = workers if isinstance(workers, tuple) else (workers, workers)
    gang: Manifest = {
        "min": least,
        "max": most,
        "gpusPerWorker": gpus,
        "template": template or a_template(),
    }
    if allowed:
        gang["allowed"] = list(allowed)
    accelerators = [
        {"type": kind, "throughput": _throughput(rate, least)}
        for kind, rate in (rates or {H100: least}).items()
    ]
    return _manifest("TrainingJob", name, {"workers": gang, "accelerators": accelerators, **spec})


def without_speeds(job: Manifest) -> Manifest:
    """The training job without its GPU types, and so without its rates."""
    return job | {"spec": {key: of for key, of in job["spec"].items() if key != "accelerators"}}


def _throughput(rate: int | str | Mapping[int, int | str], least: int) -> list[Manifest]:
    points = rate if isinstance(rate, Mapping) else {least: rate}
    return [{"workers": workers, "rate": value} for workers, value in points.items()]


def an_inference_job(  # noqa: PLR0913 - same
    name: str,
    *,
    replicas: int = 1,
    gpus: int | str = 1,
    loads: Mapping[str, int | str] | None = None,
    template: Manifest | None = None,
    role: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A service of one role; `loads` is what a replica carries by GPU type. It does not drain."""
    server = {
        "name": "server",
        "replicas": {"min": replicas, "max": max(replicas, 1)},
        "gpusPerReplica": gpus,
        "template": template or a_template(),
        "profiles": [{"type": kind, "load": load} for kind, load in (loads or {H100: 1}).items()],
        "drain": "0s",
        **(role or {}),
    }
    return _manifest("InferenceJob", name, {"roles": [server], **spec})


def a_queue(
    name: str,
    *,
    gpu_type: str = H100,
    guaranteed: int = 0,
    limit: int | None = None,
    **spec: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A queue with a quota of one GPU type; without numbers it has none."""
    quota: Manifest = {"type": gpu_type, "guaranteed": guaranteed}
    if limit is not None:
        quota["limit"] = limit
    quotas = [quota] if guaranteed or limit is not None else []
    return _manifest("JobQueue", name, {"quotas": quotas, **spec})


def a_pool(
    name: str,
    selector: Mapping[str, str],
    **spec: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A pool of the nodes with these labels."""
    return _manifest("GPUPool", name, {"nodeSelector": dict(selector), **spec})


def a_power_domain(
    name: str,
    selector: Mapping[str, str],
    *,
    budget_watts: int,
    **spec: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A power domain of the nodes with these labels."""
    return _manifest(
        "PowerDomain", name, {"nodeSelector": dict(selector), "budgetWatts": budget_watts, **spec}
    )


def a_policy(**spec: Any) -> Manifest:  # noqa: ANN401 - same
    """The placement policy."""
    return _manifest("PlacementPolicy", "default", spec)


def a_priority_class(name: str, value: int) -> Manifest:
    """A priority class."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**head, "metadata": {"name": name}, "value": value}


def a_gpu_pod(name: str, node: str, *, gpus: int = 0, cpu: str = "0") -> Manifest:
    """A pod that is nobody's of ours, on a node."""
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {**CONTAINER, "resources": {"limits": limits, "requests": {"cpu": cpu, **limits}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "nodeName": node, "terminationGracePeriodSeconds": 0},
    }
