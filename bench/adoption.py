"""How fast Jobs that Plimsoll plans go from created to bound, beside Jobs that it does not plan.

    python bench/adoption.py --jobs 2000 --kind Job --json

On one control plane with KWOK nodes, in one run: first plain Jobs of one pod, whose pods
kube-scheduler places by itself, then as many with the label, held as the admission policy holds
them, which the operator plans and resumes. Kubernetes' own controller makes the pods of both. That
each Job has its one pod, where the plan says, is verified. `phases` are the seconds from the
creation of the first Job until half of the Jobs, and all, had come so far; Kubernetes states them
in whole seconds. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import os
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

from control_plane import GPU, ROOT, Bindings, cpu_seconds, family, say
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

PODS = "/api/v1/pods"
STAND_INS = "/apis/plimsoll.dev/v1alpha1/trainingjobs"
WORKLOADS: Mapping[str, tuple[str, str]] = {"Job": ("/apis/batch/v1", "jobs")}
"""The group and the plural of each kind of workload."""
JOB_NAME = "batch.kubernetes.io/job-name"
PLACED_AT = "plimsoll.dev/placed-at"
WRITTEN = ("jobs", "trainingjobs", "trainingjobs/status", "pods", "events")
CREATORS = 8


@dataclass
class Figures:
    """What is reported."""

    kind: str
    nodes: int
    jobs: int
    raw_pods_per_second: float = 0.0
    jobs_per_second: float = 0.0
    ratio: float = 0.0
    writes_per_job: float = 0.0
    writes: dict[str, float] = field(default_factory=dict[str, float])
    operator_cpu_s: float = 0.0
    raw_phases: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    phases: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


class WrongPlacesError(Exception):
    """Pods are not where they should be."""


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description="From created to bound: how fast?")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--gpus-per-node", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--namespaces", type=int, default=4)
    parser.add_argument("--kind", choices=sorted(WORKLOADS), default="Job")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each phase")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--log", type=Path, help="keep the operator's log here")
    arguments = parser.parse_args()
    most = arguments.nodes * arguments.gpus_per_node
    if not 1 <= arguments.jobs <= most:
        raise SystemExit(f"--jobs: must be 1 to {most}, the GPUs")
    programs = find_programs(os.environ)
    with ControlPlane(programs, service_account_admission=False) as plane:
        figures = asdict(measured(plane, arguments))
    if arguments.json:
        print_json(figures)
    else:
        for key, value in figures.items():
            print(f"{key:24} {value}")
        require_finite(figures)


def measured(plane: ControlPlane, arguments: argparse.Namespace) -> Figures:
    """Both on one cluster."""
    api = plane.api
    figures = Figures(arguments.kind, arguments.nodes, arguments.jobs)
    install_crds(api, ROOT / "crds")
    say(f"{arguments.nodes} nodes")
    add_nodes(
        api,
        (fake_node(f"n{i}", GPU, arguments.gpus_per_node) for i in range(arguments.nodes)),
    )
    for name in namespaces(arguments):
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    binding = Bindings(api, job_of, path=PODS)
    say(f"{arguments.jobs} plain Jobs")
    run_plain(api, binding, arguments, figures)
    with OperatorProcess(plane.kubeconfig, {"PLIMSOLL_ADOPTS_JOBS": "true"}) as operator:
        say(f"{arguments.jobs} Jobs to plan")
        try:
            run_planned(api, operator, binding, arguments, figures)
        finally:
            if arguments.log:
                arguments.log.write_text(operator.log.read_text())
    binding.end()
    figures.ratio = round(figures.jobs_per_second / figures.raw_pods_per_second, 3)
    return figures


def run_plain(
    api: ApiServer, binding: Bindings, arguments: argparse.Namespace, figures: Figures
) -> None:
    """Create Jobs that nobody plans, wait until their pods are bound, and remove them."""
    names = [f"raw-{i}" for i in range(arguments.jobs)]
    started, at = time.monotonic(), datetime.now(UTC)
    create(api, arguments, map(plain_job, names))
    say(f"created in {time.monotonic() - started:.0f} s")
    bound = binding.wait(names, arguments.timeout)
    figures.raw_pods_per_second = rate(bound.values(), started)
    pods = pods_of(api, names)
    require_room(pods, arguments.gpus_per_node)
    figures.raw_phases = {
        "made": since(at, (pod["metadata"]["creationTimestamp"] for pod in pods.values())),
        "bound": since(at, map(bound_time, pods.values())),
    }
    remove(api, arguments)


def namespaces(arguments: argparse.Namespace) -> list[str]:
    """The namespaces of the Jobs."""
    return [f"team-{i}" for i in range(arguments.namespaces)]


def everywhere(kind: str) -> str:
    """The path of all workloads of a kind."""
    group, plural = WORKLOADS[kind]
    return f"{group}/{plural}"


def create(api: ApiServer, arguments: argparse.Namespace, jobs: Iterable[Manifest]) -> None:
    """Create Jobs, many at a time, in all namespaces in turn."""
    group, plural = WORKLOADS[arguments.kind]
    paths = (f"{group}/namespaces/{name}/{plural}" for name in cycle(namespaces(arguments)))
    with ThreadPoolExecutor(CREATORS) as pool:
        for _ in pool.map(api.create, paths, jobs):
            pass


def remove(api: ApiServer, arguments: argparse.Namespace) -> None:
    """Remove all Jobs and their pods."""
    group, plural = WORKLOADS[arguments.kind]
    of = [each["metadata"] for each in api.items(everywhere(arguments.kind))]
    query = "propagationPolicy=Background"
    paths = [f"{group}/namespaces/{m['namespace']}/{plural}/{m['name']}?{query}" for m in of]
    with ThreadPoolExecutor(CREATORS) as pool:
        for _ in pool.map(api.delete, paths):
            pass
    say("the Jobs are deleted")
    wait_until(
        lambda: not api.items(f"{PODS}?limit=1"),
        timeout_seconds=arguments.timeout,
        what="the pods are gone",
    )


def run_planned(
    api: ApiServer,
    operator: OperatorProcess,
    binding: Bindings,
    arguments: argparse.Namespace,
    figures: Figures,
) -> None:
    """Create Jobs that are planned, wait until their pods are bound, and see where they are."""
    names = [f"held-{i}" for i in range(arguments.jobs)]
    cpu = operator_cpu(operator)
    started, at = time.monotonic(), datetime.now(UTC)
    create(api, arguments, map(held_job, names))
    say(f"created in {time.monotonic() - started:.0f} s")
    bound = binding.wait(names, arguments.timeout)
    figures.jobs_per_second = rate(bound.values(), started)
    figures.operator_cpu_s = round(operator_cpu(operator) - cpu, 1)
    say(f"bound in {time.monotonic() - started:.0f} s")
    wait_until(
        lambda: all_running(api, arguments.jobs),
        timeout_seconds=arguments.timeout,
        what="all say that they run",
    )
    count_writes(operator, arguments.jobs, figures)
    pods = pods_of(api, names)
    stand_ins = {each["metadata"]["name"]: each for each in api.items(STAND_INS)}
    require_room(pods, arguments.gpus_per_node)
    require_planned_places(pods, stand_ins)
    jobs = api.items(everywhere(arguments.kind))
    figures.phases = phases(at, jobs, stand_ins.values(), pods.values())


def rate(bound: Iterable[float], started: float) -> float:
    """Pods per second until the last was bound."""
    moments = [*bound]
    return round(len(moments) / (max(moments) - started), 1)


def all_running(api: ApiServer, jobs: int) -> bool:
    """Whether the status of every stand-in says that its workload runs."""
    time.sleep(1)  # listing thousands of jobs is itself a load
    items = api.items(f"{STAND_INS}?resourceVersion=0")
    running = sum(item.get("status", {}).get("reason") == "Running" for item in items)
    say(f"{running} of {jobs} say that they run")
    return running == jobs


def count_writes(operator: OperatorProcess, jobs: int, figures: Figures) -> None:
    """The operator's own count of its writes, by resource."""
    name = "plimsoll_api_writes_total"
    figures.writes = {
        each: round(operator.metric(name, resource=each) / jobs, 4) for each in WRITTEN
    }
    figures.writes_per_job = round(sum(figures.writes.values()), 4)


def operator_cpu(operator: OperatorProcess) -> float:
    """The CPU time that the operator and its processes have used."""
    return sum(map(cpu_seconds, family(operator.pid)))


def job_of(pod: Manifest) -> str:
    """The Job that made a pod."""
    return pod["metadata"].get("labels", {}).get(JOB_NAME, "")


def pods_of(api: ApiServer, names: Iterable[str]) -> dict[str, Manifest]:
    """The pod of each Job. Raises WrongPlacesError unless each has exactly one."""
    pods = api.items(PODS)
    found = Counter(map(job_of, pods))
    wrong = sorted(name for name in {*names} | found.keys() if found[name] != 1)
    if wrong or found.keys() != {*names}:
        raise WrongPlacesError(f"these Jobs have not just one pod: {', '.join(wrong[:5])}")
    return {job_of(pod): pod for pod in pods}


def require_room(pods: Mapping[str, Manifest], gpus: int) -> None:
    """Raise WrongPlacesError if a pod has no node, or a node more pods than GPUs."""
    found = Counter(pod["spec"].get("nodeName", "") for pod in pods.values())
    full = sorted(node for node, count in found.items() if not node or count > gpus)
    if full:
        raise WrongPlacesError(f"these nodes have too many pods: {', '.join(map(repr, full[:5]))}")


def require_planned_places(pods: Mapping[str, Manifest], stand_ins: Mapping[str, Manifest]) -> None:
    """Raise WrongPlacesError unless each pod is on the node in its stand-in's status."""
    for name, pod in pods.items():
        stand_in = stand_ins.get(f"job-{name}", {})
        placement = stand_in.get("status", {}).get("placement", {})
        planned = [node for each in placement.get("assignments", ()) for node in each["nodes"]]
        if planned != [pod["spec"]["nodeName"]]:
            raise WrongPlacesError(
                f"the pod of {name} is on {pod['spec']['nodeName']}, planned on {planned}"
            )


def phases(
    at: datetime,
    jobs: Iterable[Manifest],
    stand_ins: Iterable[Manifest],
    pods: Iterable[Manifest],
) -> dict[str, list[float]]:
    """How far the Jobs had come when, in the order of the phases."""
    jobs, stand_ins, pods = [*jobs], [*stand_ins], [*pods]
    return {
        "created": since(at, map(created, jobs)),
        "stand_in_created": since(at, map(created, stand_ins)),
        "admitted": since(at, (changed(each, "Admitted") for each in stand_ins)),
        "resumed": since(at, map(written, jobs)),
        "started": since(at, (each["status"]["startTime"] for each in jobs)),
        "made": since(at, map(created, pods)),
        "sent": since(at, (unix(int(pod["metadata"]["labels"][PLACED_AT])) for pod in pods)),
        "bound": since(at, map(bound_time, pods)),
    }


def since(at: datetime, moments: Iterable[str]) -> list[float]:
    """Seconds from `at` until half of these moments had come, and all."""
    found = [(datetime.fromisoformat(each) - at).total_seconds() for each in moments]
    return [round(statistics.median(found), 1), round(max(found), 1)]


def unix(seconds: int) -> str:
    """A moment that is given in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def created(item: Manifest) -> str:
    """When an object was created."""
    return item["metadata"]["creationTimestamp"]


def changed(item: Manifest, condition: str) -> str:
    """When a condition of an object last changed."""
    conditions = item.get("status", {}).get("conditions", [])
    (found,) = (each for each in conditions if each["type"] == condition)
    return found["lastTransitionTime"]


def written(job: Manifest) -> str:
    """When the operator last wrote to a Job."""
    entries = job["metadata"].get("managedFields", ())
    (found,) = (each for each in entries if each["manager"] == "plimsoll")
    return found["time"]


def bound_time(pod: Manifest) -> str:
    """When a pod was bound."""
    return changed(pod, "PodScheduled")


def plain_job(name: str) -> Manifest:
    """A Job of one pod with one GPU."""
    container = {
        "name": "main",
        "image": "train",
        "resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": 1}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }


def held_job(name: str) -> Manifest:
    """The same, as the admission policy holds it until it has a place."""
    job = plain_job(name)
    job["metadata"]["labels"] = {"plimsoll.dev/queue": "default"}
    job["spec"]["suspend"] = True
    job["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "plimsoll.dev/placement"}]
    return job


if __name__ == "__main__":
    main()
