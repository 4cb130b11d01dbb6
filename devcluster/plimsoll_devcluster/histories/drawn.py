"""Draw a history's events and their times from a seed, before it begins."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.drawn_jobs import (
    drawn_job,
    is_adopted,
    most_at_once,
    sizes_said,
    stand_in_of,
    workload_of,
)
from plimsoll_devcluster.histories.script import (
    GROUP,
    HIGH,
    IN_HISTORIES,
    LANE,
    LOW,
    PLENTY,
    READY,
    RUN_SECONDS,
    Blow,
    Call,
    Lane,
    Script,
    domain_of,
    queue_of,
)
from plimsoll_devcluster.histories.world import companions_of
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.proxies.fault_kinds import OF_ANSWERS, Fault

_NOTICE = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
_BETWEEN_WRITES = 0.8
_SHARED = (
    Fault.CUT,
    Fault.HALF_OPEN,
    Fault.GONE,
    Fault.SILENT,
    Fault.TOKEN_EXPIRED,
    Fault.KILLED,
)
_PLURALS = {"TrainingJob": "trainingjobs", "InferenceJob": "inferencejobs"}


def script(seed: int, lanes: int, *, seconds: float = 7.0) -> Script:
    """The histories of a seed."""
    rng = Random(seed)  # noqa: S311 - no secret
    drawn = tuple(_lane(Random(f"{seed}/{n}"), f"h{seed}-{n}", seconds) for n in range(lanes))  # noqa: S311
    return Script(seed, seconds, drawn, tuple(_blows(rng, seed, seconds)))


def _blows(rng: Random, seed: int, seconds: float) -> list[Blow]:
    """At least one death of the operator, and the other faults of all connections.

    One fault is derived from the seed itself, so that few seeds cover all of them.
    """
    blows = [Blow(rng.uniform(0.2, seconds), Fault.KILLED, seconds=rng.uniform(0, 0.6))]
    if rng.random() < _BETWEEN_WRITES:
        writes = rng.randint(0, 20)
        blows.append(Blow(rng.uniform(0, seconds), Fault.KILLED_BETWEEN_WRITES, writes))
    for fault in (_SHARED[seed % len(_SHARED)], *rng.sample(_SHARED, k=rng.randint(0, 1))):
        requests = rng.randint(1, 30)
        blows.append(Blow(rng.uniform(0, seconds), fault, requests, seconds=rng.uniform(0.2, 2)))
    if any(blow.fault is Fault.HALF_OPEN for blow in blows):
        blows = [_before_or_deaf(blow, seconds) for blow in blows]
    return sorted(blows, key=lambda blow: blow.at)


def _before_or_deaf(blow: Blow, seconds: float) -> Blow:
    """The blow, timed so that a deafened operator stays deaf: a restart gets whole connections."""
    is_deaf = blow.fault is Fault.HALF_OPEN
    return replace(blow, at=(seconds + blow.at) / 2 if is_deaf else 0.4 * blow.at)


def _lane(rng: Random, namespace: str, seconds: float) -> Lane:
    lane = Lane(namespace, queue_gpus=rng.choice((3, 6, PLENTY)))
    for index in range(rng.randint(2, 3)):
        name = f"{namespace}-n{index}"
        gpus = rng.choice((2, 4))
        lane.nodes[name] = fake_node(name, H100, gpus, cpu="64", labels=_labels(namespace))
    for _ in range(rng.randint(1, 3)):
        _job_comes(rng, lane, 0.0)
    for at in sorted(rng.uniform(0, seconds) for _ in range(rng.randint(3, 6))):
        rng.choice(_HAPPENINGS)(rng, lane, at)
    for fault in rng.choices(OF_ANSWERS, k=rng.randint(2, 3)):
        at, requests = rng.uniform(0, seconds), rng.randint(1, 4)
        lane.blows.append(Blow(at, fault, requests, namespace))
    return lane


def _labels(namespace: str) -> dict[str, str]:
    return {LANE: namespace, **IN_HISTORIES}


def _job_comes(rng: Random, lane: Lane, at: float) -> None:
    job = drawn_job(rng, lane, f"j{len(lane.most_pods)}")
    body, path = job, _jobs(lane, job)
    if is_adopted(lane, job):
        body, path = workload_of(lane, job), _workloads(lane)
        job = stand_in_of(lane, job)
        lane.workloads[job["metadata"]["name"]] = body
    name = job["metadata"]["name"]
    lane.jobs[name] = job
    lane.most_pods[name] = most_at_once(job)
    lane.calls.append(Call(at, f"{name} comes", "POST", path, body))


def _job_goes(rng: Random, lane: Lane, at: float) -> None:
    if lane.jobs:
        name = rng.choice(sorted(lane.jobs))
        job = lane.jobs.pop(name)
        path = f"{_jobs(lane, job)}/{name}"
        if workload := lane.workloads.get(name):
            path = f"{_workload(lane, workload)}?propagationPolicy=Background"
        lane.calls.append(Call(at, f"{name} goes", "DELETE", path))


def _job_is_suspended(rng: Random, lane: Lane, at: float) -> None:
    if lane.jobs:
        name = rng.choice(sorted(lane.jobs))
        spec = lane.jobs[name]["spec"]
        spec = {**spec, "suspend": not spec.get("suspend", False)}
        _change(lane, at, name, spec, {"suspend": spec["suspend"]})


def _job_is_resized(rng: Random, lane: Lane, at: float) -> None:
    gangs = sorted(name for name, job in lane.jobs.items() if job["kind"] == "TrainingJob")
    if gangs:
        name = rng.choice(gangs)
        spec, least = lane.jobs[name]["spec"], rng.randint(1, 4)
        sizes = {"min": least, "max": least + rng.choice((0, 1))}
        is_fixed = spec["workers"]["min"] == spec["workers"]["max"]
        spec = {**spec, "workers": {**spec["workers"], **sizes}}
        if name not in lane.workloads:
            _change(lane, at, name, spec, {"workers": sizes})
        elif not is_fixed and sizes["min"] < sizes["max"]:
            _say(lane, at, name, spec, sizes_said(sizes))


def _service_is_resized(rng: Random, lane: Lane, at: float) -> None:
    services = sorted(name for name, job in lane.jobs.items() if job["kind"] == "InferenceJob")
    if services:
        name, replicas = rng.choice(services), rng.randint(1, 4)
        spec = lane.jobs[name]["spec"]
        role = {**spec["roles"][0], "replicas": {"min": replicas, "max": replicas}}
        _change(lane, at, name, {**spec, "roles": [role]}, {"roles": [role]})


def _priority_changes(rng: Random, lane: Lane, at: float) -> None:
    if lane.jobs:
        name = rng.choice(sorted(lane.jobs))
        priority = {"priorityClassName": rng.choice((HIGH, LOW))}
        if name not in lane.workloads:  # of those it is in the template of their pods
            _change(lane, at, name, {**lane.jobs[name]["spec"], **priority}, priority)


def _quota_changes(rng: Random, lane: Lane, at: float) -> None:
    lane.queue_gpus = rng.choice((0, 2, 4, PLENTY))
    queue = queue_of(lane)
    path = f"{GROUP}/jobqueues/{lane.namespace}"
    what = f"the queue may have {lane.queue_gpus} GPUs"
    lane.calls.append(Call(at, what, "PATCH", path, {"spec": queue["spec"]}))


def _budget_changes(rng: Random, lane: Lane, at: float) -> None:
    lane.powered_gpus = rng.choice((1, 3, 5, PLENTY))
    domain = domain_of(lane)
    path = f"{GROUP}/powerdomains/{lane.namespace}"
    what = f"there is power for {lane.powered_gpus} GPUs"
    lane.calls.append(Call(at, what, "PATCH", path, {"spec": domain["spec"]}))


def _change(lane: Lane, at: float, name: str, spec: Manifest, patch: Manifest) -> None:
    job = _becomes(lane, name, spec)
    path = f"{_jobs(lane, job)}/{name}"
    # What stands for a workload may not be there yet.
    is_late = name in lane.workloads
    what = f"{name} becomes {patch}"
    lane.calls.append(Call(at, what, "PATCH", path, {"spec": patch}, may_be_refused=is_late))


def _becomes(lane: Lane, name: str, spec: Manifest) -> Manifest:
    """The job as it will be; it may have all the pods that it could ever have."""
    job = {**lane.jobs[name], "spec": spec}
    lane.jobs[name] = job
    lane.most_pods[name] = max(lane.most_pods[name], most_at_once(job))
    return job


def _say(lane: Lane, at: float, name: str, spec: Manifest, annotations: Mapping[str, str]) -> None:
    """Change the annotations of a job's workload, which then says such a spec."""
    _becomes(lane, name, spec)
    path = _workload(lane, lane.workloads[name])
    patch = {"metadata": {"annotations": annotations}}
    lane.calls.append(Call(at, f"{name} says {annotations}", "PATCH", path, patch))


def _worker_fails(rng: Random, lane: Lane, at: float) -> None:
    notes = {RUN_SECONDS: "0", "plimsoll.dev/test-exit": "Failed"}
    patch = {"metadata": {"annotations": notes}}
    _to_a_pod(rng, lane, at, "PATCH", patch)


def _pod_is_deleted(rng: Random, lane: Lane, at: float) -> None:
    _to_a_pod(rng, lane, at, "DELETE", {})


def _pod_is_evicted(rng: Random, lane: Lane, at: float) -> None:
    _to_a_pod(rng, lane, at, "POST", {"apiVersion": "policy/v1", "kind": "Eviction"})


def _to_a_pod(rng: Random, lane: Lane, at: float, method: str, patch: Manifest) -> None:
    if lane.jobs:
        name = rng.choice(sorted(lane.jobs))
        pod = _pod_of(rng, lane.jobs[name])
        path = f"/api/v1/namespaces/{lane.namespace}/pods/{pod}"
        if workload := lane.workloads.get(name):
            _pod_is_lost(lane, at, workload)
            return
        if method == "POST":
            path, patch = f"{path}/eviction", {**patch, "metadata": {"name": pod}}
        what = {"POST": "is evicted", "PATCH": "fails", "DELETE": "is deleted"}[method]
        lane.calls.append(Call(at, f"{pod} {what}", method, path, patch))


def _pod_is_lost(lane: Lane, at: float, workload: Manifest) -> None:
    """A Job's first pod is deleted, once: Kubernetes makes each later one after a longer wait."""
    job = workload["metadata"]["name"]
    what = f"the first pod of {job} is deleted"
    if any(call.what == what for call in lane.calls):
        return
    index = "batch.kubernetes.io/job-completion-index=0"
    selector = f"labelSelector=batch.kubernetes.io/job-name={job},{index}"
    path = f"/api/v1/namespaces/{lane.namespace}/pods?{selector}"
    lane.calls.append(Call(at, what, "DELETE", path))


def _pod_of(rng: Random, job: Manifest) -> str:
    """One of a job's pods that is likely there, a launcher in place of a second worker."""
    number = rng.randint(0, 1)
    role = "worker" if job["kind"] == "TrainingJob" else "server"
    if number and companions_of(job):
        role, number = "launcher", 0
    return f"{job['metadata']['name']}-{role}-{number}"


def _node_goes(rng: Random, lane: Lane, at: float) -> None:
    name = rng.choice(sorted(lane.nodes))
    if name in lane.absent:
        lane.absent.remove(name)
        lane.calls.append(Call(at, f"{name} comes back", "POST", NODES, lane.nodes[name]))
    else:
        lane.absent.add(name)
        lane.silent.discard(name)
        lane.nodes[name] = {**lane.nodes[name], "spec": {"taints": []}}
        lane.calls.append(Call(at, f"{name} goes", "DELETE", f"{NODES}/{name}"))


def _node_is_marked(rng: Random, lane: Lane, at: float) -> None:
    there = sorted(lane.nodes.keys() - lane.absent - lane.silent)
    if there:
        name = rng.choice(there)
        marks: list[Manifest] = [
            {"unschedulable": True, "taints": None},
            {"unschedulable": None, "taints": [_NOTICE]},
            {"unschedulable": None, "taints": None},
        ]
        patch = rng.choice(marks)
        lane.nodes[name] = {**lane.nodes[name], "spec": patch}
        path = f"{NODES}/{name}"
        lane.calls.append(Call(at, f"{name} becomes {patch}", "PATCH", path, {"spec": patch}))


def _node_falls_silent(rng: Random, lane: Lane, at: float) -> None:
    """Its kubelet reports not ready, and stays so until the node goes."""
    there = sorted(lane.nodes.keys() - lane.absent - lane.silent)
    if there:
        name = rng.choice(there)
        lane.silent.add(name)
        alone = {"metadata": {"annotations": {READY: "False"}}}
        ready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
        path, what = f"{NODES}/{name}", f"{name} falls silent"
        lane.calls.append(Call(at, what, "PATCH", path, alone))
        status = {"status": {"conditions": [ready]}}
        lane.calls.append(Call(at, what, "PATCH", f"{path}/status", status))


_HAPPENINGS: tuple[Callable[[Random, Lane, float], None], ...] = (
    _job_comes,
    _job_comes,
    _job_goes,
    _job_is_suspended,
    _job_is_resized,
    _service_is_resized,
    _priority_changes,
    _quota_changes,
    _budget_changes,
    _worker_fails,
    _pod_is_deleted,
    _pod_is_evicted,
    _node_goes,
    _node_is_marked,
    _node_falls_silent,
)


def _workloads(lane: Lane) -> str:
    return f"/apis/batch/v1/namespaces/{lane.namespace}/jobs"


def _workload(lane: Lane, workload: Manifest) -> str:
    return f"{_workloads(lane)}/{workload['metadata']['name']}"


def _jobs(lane: Lane, job: Manifest) -> str:
    return f"{GROUP}/namespaces/{lane.namespace}/{_PLURALS[job['kind']]}"
