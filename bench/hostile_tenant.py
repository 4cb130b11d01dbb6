"""What a hostile tenant costs another tenant of the same cluster.

    python bench/hostile_tenant.py --jobs 1000 --targets 1000 --tokens-per-minute 10000 --others 200
        --seed 1 --seconds 300 --json

A real control plane with KWOK nodes, and the operator beside it. One namespace has this many of the
costliest jobs that can be written, and jobs whose targets are read by a webhook that never answers;
invalid tokens come from outside. Meanwhile another tenant's plain jobs come and go, one after the
other over the given time; for each, the time from `create` until it has a place is measured.
`turn_p99_s` is from the operator's own histogram, `rss_mib` the peak memory of all its processes
together. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import os
import statistics
import sys
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from prometheus_client.parser import text_string_to_metric_families

from control_plane import say
from plimsoll_bench.hostile.workload import (
    GROUP,
    PLURAL,
    JunkTokens,
    deaf_server,
    hanging_definition,
    targeting_job,
    workload,
    worst_job,
)
from plimsoll_bench.live.readings import Sampler
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

ROOT = Path(__file__).parents[1]
HOSTILE, OTHER = "hostile", "modest"
GPUS_PER_NODE = 8
AT_ONCE = 40
"""How many plain jobs exist at a time; the oldest goes when another comes."""
POLL_SECONDS = 0.1
READY_SECONDS = 120.0
PERCENTILE = 0.99


@dataclass
class Figures:
    """What is reported; jobs that never had a place count with the time until the end."""

    jobs: int
    targets: int
    others: int
    tokens_sent: int = 0
    others_placed_p50_s: float = 0.0
    others_placed_p99_s: float = 0.0
    others_unplaced: int = 0
    turns: int = 0
    turn_p99_s: float = 0.0
    lease_lost: int = 0
    loop_errors: float = 0.0
    rss_mib: float = 0.0


class Others:
    """The other tenant's jobs, which come and go."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._there: deque[int] = deque()
        self._made: dict[str, float] = {}
        self.took: list[float] = []

    @property
    def unplaced(self) -> int:
        """How many have no place yet."""
        return len(self._made)

    def come(self, number: int) -> None:
        """Make a job; if there are many, the oldest that has a place goes."""
        if len(self._there) >= AT_ONCE and f"plain-{self._there[0]}" not in self._made:
            self._api.delete(f"{jobs_of(OTHER)}/plain-{self._there.popleft()}")
        self._made[f"plain-{number}"] = time.monotonic()
        self._api.create(jobs_of(OTHER), plain_job(number))
        self._there.append(number)

    def look(self) -> None:
        """Note which have a place by now."""
        for job in self._api.items(jobs_of(OTHER)) if self._made else ():
            name = job["metadata"]["name"]
            if name in self._made and job.get("status", {}).get("placement"):
                self.took.append(time.monotonic() - self._made.pop(name))

    def give_up(self) -> None:
        """Count jobs that never had a place as if they had it now."""
        now = time.monotonic()
        self.took += [now - made for made in self._made.values()]


def main() -> None:
    """Run it and print the figures."""
    arguments = parsed()
    programs = find_programs(os.environ)
    with ControlPlane(programs, service_account_admission=False, taints_new_nodes=False) as plane:
        figures = asdict(measured(plane, arguments))
    if arguments.json:
        print_json(figures)
    else:
        print("\n".join(f"{name:22} {figure}" for name, figure in figures.items()))
        require_finite(figures)


def parsed() -> argparse.Namespace:
    """The arguments; nonsensical ones end the program."""
    parser = argparse.ArgumentParser(description="What does a hostile tenant cost another?")
    parser.add_argument("--jobs", type=int, default=1000, help="costliest jobs")
    parser.add_argument("--targets", type=int, default=1000, help="jobs whose targets hang")
    parser.add_argument("--tokens-per-minute", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=200, help="the other tenant's jobs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300, help="while the others come and go")
    parser.add_argument("--log", type=Path, help="keep the operator's log here")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    found = parser.parse_args()
    if min(found.jobs, found.targets, found.tokens_per_minute) < 0:
        parser.error("--jobs, --targets and --tokens-per-minute must be 0 or more")
    if found.others < 1 or not 1 <= found.seconds <= 3600:  # noqa: PLR2004 - an hour
        parser.error("--others must be 1 or more, and --seconds between 1 and 3600")
    return found


def measured(plane: ControlPlane, arguments: argparse.Namespace) -> Figures:
    """All of it on one cluster."""
    api, rng = plane.api, Random(arguments.seed)
    figures = Figures(arguments.jobs, arguments.targets, arguments.others)
    prepare(api, arguments.others)
    operator = OperatorProcess(plane.kubeconfig, probe_seconds=READY_SECONDS)
    with deaf_server() as port:
        try:
            operator.start()
            attack(api, rng, arguments, port)
            run(api, operator, arguments, figures)
        finally:
            if arguments.log:
                arguments.log.write_text(operator.log.read_text())
            operator.kill()
    return figures


def prepare(api: ApiServer, others: int) -> None:
    """Make the nodes and the namespaces: each tenant's jobs run on a different GPU type.

    There is room for all of the other tenant's jobs, so that they wait only for the operator.
    """
    install_crds(api, ROOT / "crds")
    for name in (HOSTILE, OTHER):
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    count = others // GPUS_PER_NODE + 1
    nodes = [
        fake_node(f"{name}-{n}", kind, GPUS_PER_NODE)
        for name, kind in ((OTHER, H100), (HOSTILE, A100))
        for n in range(count)
    ]
    add_nodes(api, nodes, say)


def attack(api: ApiServer, rng: Random, arguments: argparse.Namespace, port: int) -> None:
    """Make everything that the hostile tenant has."""
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", hanging_definition(port))
    workloads = f"/apis/{GROUP}/v1/namespaces/{HOSTILE}/{PLURAL}"
    wait_until(lambda: api.exists(workloads), timeout_seconds=60, what="the kind is served")
    api.create_all(workloads, map(workload, range(arguments.targets)))
    api.create_all(services_of(HOSTILE), map(targeting_job, range(arguments.targets)))
    api.create_all(jobs_of(HOSTILE), (worst_job(rng, n) for n in range(arguments.jobs)))
    say(f"{arguments.jobs} jobs and {arguments.targets} targets are there")


def run(
    api: ApiServer, operator: OperatorProcess, arguments: argparse.Namespace, figures: Figures
) -> None:
    """Let the other tenant's jobs come and go, and measure."""
    sampler, others = Sampler(operator), Others(api)
    junk = JunkTokens(operator.worker_url, arguments.tokens_per_minute)
    before, begun = turns(operator), time.monotonic()
    pause = arguments.seconds / arguments.others
    try:
        for number in range(arguments.others):
            others.come(number)
            while time.monotonic() < begun + (number + 1) * pause:
                others.look()
                time.sleep(POLL_SECONDS)
            say(f"{number + 1} came, {others.unplaced} of them without a place")
    finally:
        junk.stop()
    others.look()
    figures.others_unplaced = others.unplaced
    others.give_up()
    after = turns(operator)
    figures.tokens_sent = junk.sent
    figures.others_placed_p50_s = round(statistics.median(others.took), 3)
    figures.others_placed_p99_s = round(percentile(others.took, PERCENTILE), 3)
    spent = {limit: count - before.get(limit, 0.0) for limit, count in after.items()}
    figures.turns = round(spent.get(float("inf"), 0.0))
    figures.turn_p99_s = round(quantile(spent, PERCENTILE) or arguments.seconds, 3)
    lines = operator.log_lines()
    figures.lease_lost = sum(
        line.get("reason") == "NotLeader" and line.get("event") == "leadership changed"
        for line in lines
    )
    figures.loop_errors = operator.metric("plimsoll_loop_errors_total")
    seen = sampler.between(begun, time.monotonic())
    figures.rss_mib = round(max(each.operator_mib + each.solvers_mib for each in seen), 1)


def turns(operator: OperatorProcess) -> dict[float, float]:
    """How many turns took no longer than each limit of the histogram."""
    families = text_string_to_metric_families(operator.probe("/metrics")[1])
    return {
        float(sample.labels["le"]): sample.value
        for family in families
        for sample in family.samples
        if sample.name == "plimsoll_loop_seconds_bucket"
    }


def percentile(values: list[float], share: float) -> float:
    """The value that this share does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def quantile(counts: Mapping[float, float], share: float) -> float:
    """The quantile of a histogram, interpolated between its limits; 0 if it is empty."""
    total = counts.get(float("inf"), 0.0)
    wanted, below, before = share * total, 0.0, 0.0
    for limit, count in sorted(counts.items()):
        if count >= wanted > 0:
            width = 0.0 if limit == float("inf") else limit - below
            return below + width * (wanted - before) / max(count - before, 1e-9)
        below, before = limit, count
    return 0.0


def plain_job(number: int) -> Manifest:
    """A job of one GPU."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": f"plain-{number}"},
        "spec": {
            "workers": {"min": 1, "gpusPerWorker": 1, "template": template},
            "accelerators": [{"type": H100, "throughput": [{"workers": 1, "rate": 1}]}],
        },
    }


def jobs_of(namespace: str) -> str:
    """The path of a namespace's training jobs."""
    return f"/apis/plimsoll.dev/v1alpha1/namespaces/{namespace}/trainingjobs"


def services_of(namespace: str) -> str:
    """The path of its inference jobs."""
    return f"/apis/plimsoll.dev/v1alpha1/namespaces/{namespace}/inferencejobs"


if __name__ == "__main__":
    sys.exit(main())
