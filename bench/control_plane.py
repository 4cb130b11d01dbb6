"""How fast jobs go from apply to bound on a real control plane, and at what cost.

    python bench/control_plane.py --nodes 500 --jobs 4000 --json

KWOK nodes with 8 GPUs each; the jobs are one-GPU training jobs, applied at once. In the same run
and on the same nodes, pods of the same shape are created directly, which is the most that the
control plane can do. Jobs are also created, and each is given a status, while no operator runs: a
job costs that beside its pod whoever plans it, and `of_raw_pods_at_most` is the rate of raw pods
and this one after the other. Among the jobs is one that cannot fit, and its status must say so.
Counted are all writes of the operator, also those that are about no job, until every job says that
it runs. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import os
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from urllib3.exceptions import HTTPError

from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

ROOT = Path(__file__).parents[1]
GPU = "NVIDIA-H100-80GB-HBM3"
NAMESPACE = "default"
JOBS = f"/apis/plimsoll.dev/v1alpha1/namespaces/{NAMESPACE}/trainingjobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
APPLIERS = 8
RECONNECT_SECONDS = 0.5
TOO_MANY_NODES = 1.2


@dataclass
class Figures:
    """What is reported."""

    nodes: int
    jobs: int
    raw_pods_per_second: float = 0.0
    jobs_per_second: float = 0.0
    of_raw_pods: float = 0.0
    of_raw_pods_at_most: float = 0.0
    apply_s: float = 0.0
    apply_to_bound_p50_s: float = 0.0
    apply_to_bound_p99_s: float = 0.0
    p99_of_apply: float = 0.0
    all_running_s: float = 0.0
    api_writes_per_job: float = 0.0
    writes: dict[str, float] = field(default_factory=dict[str, float])
    rss_mib: float = 0.0
    operator_cpu_s: float = 0.0
    server_cpu_s: dict[str, float] = field(default_factory=dict[str, float])
    infeasible_told_s: float = 0.0
    infeasible_message: str = ""


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description="From apply to bound: how fast?")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--gpus-per-node", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each phase")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--log", type=Path, help="keep the operator's log here")
    arguments = parser.parse_args()
    programs = find_programs(os.environ)
    with ControlPlane(programs, service_account_admission=False) as plane:
        figures = measured(plane, arguments)
    if arguments.json:
        print_json(asdict(figures))
    else:
        for key, value in asdict(figures).items():
            print(f"{key:24} {value}")
        require_finite(asdict(figures))


def measured(plane: ControlPlane, arguments: argparse.Namespace) -> Figures:
    """Both phases on one cluster."""
    api, figures = plane.api, Figures(arguments.nodes, arguments.jobs)
    install_crds(api, ROOT / "crds")
    say(f"{arguments.nodes} nodes")
    add_nodes(
        api,
        (fake_node(f"n{i}", GPU, arguments.gpus_per_node) for i in range(arguments.nodes)),
    )
    binding = Bindings(api)
    say(f"{arguments.jobs} pods directly")
    figures.raw_pods_per_second = raw_rate(api, binding, arguments)
    say(f"{arguments.jobs} jobs without an operator")
    raw_s = arguments.jobs / figures.raw_pods_per_second
    figures.of_raw_pods_at_most = round(raw_s / (raw_s + unplanned_s(api, arguments)), 2)
    with OperatorProcess(plane.kubeconfig) as operator:
        memory = Memory(operator.pid)
        say(f"{arguments.jobs} jobs")
        before = cpu_of_servers(plane)
        run_jobs(api, operator, binding, arguments, figures)
        after = cpu_of_servers(plane)
        figures.server_cpu_s = {name: round(after[name] - before[name], 1) for name in after}
        figures.rss_mib = round(memory.peak_mib(), 1)
        if arguments.log:
            arguments.log.write_text(operator.log.read_text())
    binding.end()
    return figures


def raw_rate(api: ApiServer, binding: "Bindings", arguments: argparse.Namespace) -> float:
    """Pods per second when only the control plane is at work."""
    started = time.monotonic()
    per_node = arguments.gpus_per_node
    places = ((i, f"n{i // per_node % arguments.nodes}") for i in range(arguments.jobs))
    api.create_all(PODS, (raw_pod(index, node) for index, node in places))
    bound = binding.wait([f"raw-{i}" for i in range(arguments.jobs)], arguments.timeout)
    rate = arguments.jobs / (max(bound.values()) - started)
    with ThreadPoolExecutor(APPLIERS) as pool:
        for _ in pool.map(api.delete, (f"{PODS}/raw-{i}" for i in range(arguments.jobs))):
            pass
    wait_until(
        lambda: not api.items(f"{PODS}?limit=1"),
        timeout_seconds=arguments.timeout,
        what="the pods are gone",
    )
    return round(rate, 1)


def unplanned_s(api: ApiServer, arguments: argparse.Namespace) -> float:
    """How long it takes to create all jobs, and to write the status of each once."""
    started = time.monotonic()
    api.create_all(JOBS, (job(f"job-{i}", 1, 1) for i in range(arguments.jobs)))
    created_s = time.monotonic() - started
    created = api.items(JOBS)
    started = time.monotonic()
    with ThreadPoolExecutor(APPLIERS) as pool:
        for _ in pool.map(partial(place, api), created):
            pass
    written_s = time.monotonic() - started
    api.delete_all(JOBS)
    wait_until(
        lambda: not api.items(f"{JOBS}?limit=1"),
        timeout_seconds=arguments.timeout,
        what="the jobs are gone",
    )
    return created_s + written_s


def place(api: ApiServer, item: Manifest) -> None:
    """Write a status as the operator does when a job is placed."""
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    placement = {"acceleratorType": GPU, "workers": 1, "revision": 1, "pool": "default"}
    admitted = {"type": "Admitted", "status": "True", "reason": "Admitted"}
    status = {
        "reason": "Admitted",
        "message": "placed",
        "placement": placement,
        "conditions": [{**admitted, "message": "placed", "lastTransitionTime": since}],
    }
    api.replace(f"{JOBS}/{name_of(item)}/status", {**item, "status": status})


def run_jobs(
    api: ApiServer,
    operator: OperatorProcess,
    binding: "Bindings",
    arguments: argparse.Namespace,
    figures: Figures,
) -> None:
    """Apply all jobs, with the one that cannot fit among them, and wait until all are bound."""
    applied: dict[str, float] = {}
    timer = ReasonTimer(lambda: api.get(f"{JOBS}/too-large").get("status", {}).get("message"))
    started = time.monotonic()

    def apply(index: int) -> None:
        if index == arguments.jobs // 2:
            too_large = int(arguments.nodes * TOO_MANY_NODES)
            api.create(JOBS, job("too-large", too_large, arguments.gpus_per_node))
            timer.start()
        name = f"job-{index}"
        api.create(JOBS, job(name, 1, 1))
        applied[f"{name}-worker-0"] = time.monotonic()

    with ThreadPoolExecutor(APPLIERS) as pool:
        for _ in pool.map(apply, range(arguments.jobs)):
            pass
    figures.apply_s = round(time.monotonic() - started, 1)
    say(f"applied in {figures.apply_s} s")
    bound = binding.wait(applied, arguments.timeout)
    waits = sorted(bound[pod] - at for pod, at in applied.items())
    figures.jobs_per_second = round(arguments.jobs / (max(bound.values()) - started), 1)
    figures.of_raw_pods = round(figures.jobs_per_second / figures.raw_pods_per_second, 2)
    figures.apply_to_bound_p50_s = round(statistics.median(waits), 2)
    figures.apply_to_bound_p99_s = round(waits[int(len(waits) * 0.99)], 2)
    figures.p99_of_apply = round(figures.apply_to_bound_p99_s / figures.apply_s, 2)
    figures.infeasible_told_s, figures.infeasible_message = timer.wait(arguments.timeout)
    wait_until(
        partial(all_running, api, arguments.jobs),
        timeout_seconds=arguments.timeout,
        what="all jobs say that they run",
    )
    figures.all_running_s = round(time.monotonic() - started, 1)
    count_writes(operator, arguments.jobs, figures)
    figures.operator_cpu_s = round(sum(map(cpu_seconds, family(operator.pid))), 1)


def all_running(api: ApiServer, jobs: int) -> bool:
    """Whether every job's status says that it runs."""
    time.sleep(1)  # listing thousands of jobs is itself a load
    items = api.items(f"{JOBS}?resourceVersion=0")
    running = sum(item.get("status", {}).get("reason") == "Running" for item in items)
    say(f"{running} of {jobs} say that they run")
    return running == jobs


def count_writes(operator: OperatorProcess, jobs: int, figures: Figures) -> None:
    """The operator's own count of its writes, by resource, for each job and the one too large."""
    writes = Counter[str]()
    for metric in text_string_to_metric_families(operator.probe("/metrics")[1]):
        for sample in metric.samples:
            if sample.name == "plimsoll_api_writes_total":
                writes[sample.labels["resource"]] += int(sample.value)
    figures.writes = {each: round(n / (jobs + 1), 4) for each, n in writes.most_common()}
    figures.api_writes_per_job = round(writes.total() / (jobs + 1), 4)


def cpu_of_servers(plane: ControlPlane) -> dict[str, float]:
    """The CPU seconds of each program of the control plane so far."""
    return {name: cpu_seconds(pid) for name, pid in plane.pids().items()}


def job(name: str, workers: int, gpus: int) -> Manifest:
    """A training job."""
    container = {"name": "main", "image": "train", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {
            "workers": {
                "min": workers,
                "gpusPerWorker": gpus,
                "template": {"spec": {"containers": [container]}},
            },
            "accelerators": [{"type": GPU, "throughput": [{"workers": workers, "rate": workers}]}],
        },
    }


def raw_pod(index: int, node: str) -> Manifest:
    """A pod like those that the operator makes, bound to a node."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    resources = {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": 1}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"raw-{index}"},
        "spec": {
            "affinity": {"nodeAffinity": required},
            "containers": [{"name": "main", "image": "train", "resources": resources}],
        },
    }


def name_of(item: Manifest) -> str:
    """An object's name."""
    return item["metadata"]["name"]


class Bindings:
    """When each pod was first seen bound, by a watch in a thread.

    `key` is what a pod is known by, `path` where the pods are.
    """

    def __init__(
        self, api: ApiServer, key: Callable[[Manifest], str] = name_of, *, path: str = PODS
    ) -> None:
        self._seen: dict[str, float] = {}
        self._key, self._path = key, path
        self._api = api
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> None:
        """Stop watching: the control plane may go away."""
        self._over.set()

    def wait(self, pods: Collection[str], timeout_seconds: float) -> dict[str, float]:
        """Wait until these pods are bound; when each was.

        They are waited for by name: events of pods that are long deleted may still come.
        """
        wait_until(
            lambda: all(pod in self._seen for pod in pods),
            timeout_seconds=timeout_seconds,
            what=f"{len(pods)} pods are bound",
        )
        return {pod: self._seen[pod] for pod in pods}

    def _watch(self) -> None:
        while not self._over.is_set():  # when a watch ends, list everything and watch again
            try:
                self._see_all()
            except (HTTPError, ApiServerRefusedError):
                self._over.wait(RECONNECT_SECONDS)

    def _see_all(self) -> None:
        for event in self._api.watch(self._path):
            if self._over.is_set():
                return
            item = event["object"]
            if item.get("spec", {}).get("nodeName"):
                self._seen.setdefault(self._key(item), time.monotonic())


class ReasonTimer:
    """How long until it is said why a job cannot run; `told` is empty until then."""

    def __init__(self, told: Callable[[], object]) -> None:
        self._told = told
        self._answer: tuple[float, str] | None = None

    def start(self) -> None:
        """Start counting now."""
        threading.Thread(target=self._look, args=(time.monotonic(),), daemon=True).start()

    def wait(self, timeout_seconds: float) -> tuple[float, str]:
        """The seconds it took, and the message."""
        return wait_until(
            lambda: self._answer,
            timeout_seconds=timeout_seconds,
            what="a reason to wait",
        ) or (0.0, "")

    def _look(self, started: float) -> None:
        message = wait_until(self._told, timeout_seconds=600, what="a status")
        self._answer = round(time.monotonic() - started, 2), str(message)


class Memory:
    """The peak memory of a process and its children, sampled by a thread."""

    def __init__(self, pid: int) -> None:
        self._pid, self._peak = pid, 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def peak_mib(self) -> float:
        """Peak resident MiB; shared pages count for each process."""
        return self._peak

    def _look(self) -> None:
        while True:
            self._peak = max(self._peak, sum(map(rss_mib, family(self._pid))))
            time.sleep(0.5)


def family(pid: int) -> Iterable[int]:
    """A process and all its descendants."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from family(int(child))


def rss_mib(pid: int) -> float:
    """Resident memory of one process; 0 when it has gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def say(text: str, write: Callable[[str], object] = sys.stderr.write) -> None:
    """Report progress."""
    write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
