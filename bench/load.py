"""What the operator uses of a machine and of the API server, at rest and while jobs come and go.

    python bench/load.py --nodes 1000 --jobs 500 --rest 2 --churn 5 --json

A real control plane with KWOK nodes of 8 GPUs, and the operator under the account and with the
rights that the chart gives it. The jobs exist before it starts: the time from its start until it
has published a plan is `first_plan_s`. When all run it is left alone for `--rest` minutes; then for
`--churn` minutes some jobs are replaced each second, one in a hundred unless `--replaced` says how
many: half of them are deleted, the pods of the others end, and they are deleted later. Nodes renew
no leases, since those of ten thousand would occupy the whole machine. Memory is the resident memory
of all of the operator's processes. At the end each job must hold capacity and have its pods, and no
other pod may exist. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import json
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import yaml

from control_plane import GPU, JOBS, PODS, job, rss_mib, say
from plimsoll_bench.live.readings import Growth, Phase, Reading, Sampler, growth, phase, reading
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import (
    NAMESPACE,
    OperatorProcess,
    ensure_namespace,
)
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.service_accounts import add_account, with_token
from plimsoll_devcluster.waiting import wait_for_count, wait_until

ROOT = Path(__file__).parents[1]
RIGHTS = ROOT / "charts" / "plimsoll" / "files"
ACCOUNT = "plimsoll"
AT_ONCE = 16
GPUS_PER_NODE = 8
QUIET_SECONDS = 5.0
CHURN_SHARE = 0.01
DONE_SECONDS = 20
"""How long a finished job stays."""


@dataclass
class Figures:
    """What is reported."""

    nodes: int
    jobs: int
    workers_per_job: int
    nodes_s: float = 0.0
    jobs_s: float = 0.0
    start_s: float = 0.0
    first_plan_s: float = 0.0
    all_run_s: float = 0.0
    replaced_per_s: float = 0.0
    settled_s: float = 0.0
    pods: int = 0
    loop_errors: float = 0.0
    watch_relists: float = 0.0
    leases_lost: int = 0
    control_plane_mib: dict[str, float] = field(default_factory=dict[str, float])
    start: Phase = field(default_factory=Phase)
    rest: Phase = field(default_factory=Phase)
    churn: Phase = field(default_factory=Phase)
    growth: Growth = field(default_factory=Growth)


class Bench:
    """One cluster, and the operator in it."""

    def __init__(
        self, plane: ControlPlane, operator: OperatorProcess, arguments: argparse.Namespace
    ) -> None:
        self.plane, self.api, self.operator = plane, plane.api, operator
        self.arguments = arguments
        self.figures = Figures(arguments.nodes, arguments.jobs, arguments.workers)

    def begin(self) -> None:
        """Start the operator, and wait until all jobs run."""
        figures, patience = self.figures, self.arguments.patience
        begun = time.monotonic()
        self.operator.launch()
        self.sampler = Sampler(self.operator)
        self.operator.wait_ready(patience)
        figures.start_s = round(time.monotonic() - begun, 2)
        nothing = Reading(begun, 0.0, {}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        wait_until(
            lambda: self.operator.metric("plimsoll_plan_seconds_count") >= 1,
            timeout_seconds=patience,
            what="there is a plan",
        )
        figures.first_plan_s = round(time.monotonic() - begun, 2)
        self.wait_for_jobs()
        figures.all_run_s = round(time.monotonic() - begun, 2)
        self.wait_for_quiet()
        figures.start = self.phase(nothing)

    def rest(self, seconds: float) -> None:
        """Let nothing happen for a while."""
        say(f"at rest for {seconds:.0f} s")
        before = self.reading()
        time.sleep(seconds)
        self.figures.rest = self.phase(before)

    def churn(self, seconds: float) -> None:
        """Replace the oldest jobs, some each second."""
        each = self.arguments.replaced or max(1, round(self.figures.jobs * CHURN_SHARE))
        say(f"{each} jobs replaced each second for {seconds:.0f} s")
        before, replaced = self.reading(), 0
        done: list[range] = []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while (now := time.monotonic()) < before.at + seconds:
                old = range(replaced, replaced + each)
                new = range(self.figures.jobs + replaced, self.figures.jobs + replaced + each)
                replaced += each
                done.append(old)
                gone = done.pop(0) if len(done) > DONE_SECONDS else range(0)
                self.replace(pool, old, new, gone)
                time.sleep(max(0.0, now + 1 - time.monotonic()))
            self.figures.churn = self.phase(before)
            for old in done:
                self.replace(pool, range(0), range(0), old)
        after = time.monotonic()
        self.figures.replaced_per_s = round(replaced / (after - before.at), 2)
        self.figures.growth = growth(self.sampler.between(before.at, after))

    def replace(self, pool: ThreadPoolExecutor, old: range, new: range, gone: range) -> None:
        """End the even ones of the old jobs, delete the odd ones and those that ended long ago."""
        work = [
            *(pool.submit(end_job, self.api, n, self.arguments.workers) for n in old if n % 2 == 0),
            *(pool.submit(self.api.delete, job_path(n)) for n in old if n % 2),
            *(pool.submit(self.api.delete, job_path(n)) for n in gone),
            *(pool.submit(self.api.create, JOBS, self.job(n)) for n in new),
        ]
        for each in work:
            each.result()

    def settle(self) -> None:
        """Wait until each job has its pods and no other pod exists."""
        begun = time.monotonic()
        self.wait_for_jobs()
        wanted = self.figures.jobs * self.arguments.workers
        wait_until(
            lambda: self.running_pods() == wanted,
            timeout_seconds=self.arguments.patience,
            what=f"{wanted} pods run, and no other is there",
        )
        figures = self.figures
        figures.settled_s, figures.pods = round(time.monotonic() - begun, 2), wanted
        figures.loop_errors = self.operator.metric("plimsoll_loop_errors_total")
        figures.watch_relists = self.operator.metric("plimsoll_watch_relists_total")
        figures.leases_lost = sum(
            line.get("reason") == "NotLeader" and line["event"] == "leadership changed"
            for line in self.operator.log_lines()
        )
        figures.control_plane_mib = {
            name: round(rss_mib(pid), 1) for name, pid in self.plane.pids().items()
        }

    def running_pods(self) -> int:
        """How many pods run; -1 while others exist."""
        time.sleep(1)  # listing thousands of pods is itself a load
        phases = [pod["status"]["phase"] for pod in self.api.items(f"{PODS}?resourceVersion=0")]
        return len(phases) if set(phases) == {"Running"} else -1

    def wait_for_jobs(self) -> None:
        """Wait until all jobs hold capacity, as long as their number keeps growing."""
        wait_for_count(
            lambda: int(self.operator.metric("plimsoll_running_jobs")),
            self.figures.jobs,
            patience_seconds=self.arguments.patience,
            poll_seconds=0.5,
            what="jobs hold capacity",
            report=say,
        )

    def wait_for_quiet(self) -> None:
        """Wait until, for a while, hardly more than the lease is written."""
        wait_until(self.is_quiet, timeout_seconds=self.arguments.patience, what="it is quiet")

    def is_quiet(self) -> bool:
        """Whether, for a while, hardly more than the lease is written."""
        before = self.reading().writes
        time.sleep(QUIET_SECONDS)
        return self.reading().writes - before <= 2 * QUIET_SECONDS

    def reading(self) -> Reading:
        """What the operator has used and requested so far."""
        return reading(self.api, self.operator)

    def phase(self, before: Reading) -> Phase:
        """What it used since then."""
        after = self.reading()
        found = phase(before, after, self.sampler.between(before.at, after.at))
        say(json.dumps(asdict(found)))
        return found

    def job(self, number: int) -> Manifest:
        """A job of workers with one GPU."""
        return job(f"job-{number}", self.arguments.workers, 1)


def main() -> None:
    """Run it and print the figures."""
    arguments = parsed()
    programs = find_programs(os.environ)
    with ControlPlane(programs, service_account_admission=False, taints_new_nodes=False) as plane:
        figures = measured(plane, arguments)
    found = asdict(figures)
    if arguments.json:
        print_json(found)
    else:
        print("\n".join(f"{k:22} {found[k]}" for k in found))
        require_finite(found)


def parsed() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description="What does the operator take?")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--workers", type=int, default=1, help="pods of each job, of one GPU")
    parser.add_argument("--rest", type=float, default=2, help="minutes at rest")
    parser.add_argument("--churn", type=float, default=3, help="minutes while jobs come and go")
    parser.add_argument("--replaced", type=int, help="jobs replaced each second")
    parser.add_argument("--patience", type=float, default=120, help="seconds without any progress")
    parser.add_argument("--log", type=Path, help="keep the operator's log here")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def measured(plane: ControlPlane, arguments: argparse.Namespace) -> Figures:
    """All of it on one cluster."""
    environment = {"KUBECONFIG": str(own_kubeconfig(plane))}
    operator = OperatorProcess(plane.kubeconfig, environment, probe_seconds=arguments.patience)
    bench = Bench(plane, operator, arguments)
    fill(bench)
    try:
        bench.begin()
        bench.rest(60 * arguments.rest)
        bench.churn(60 * arguments.churn)
        bench.settle()
    finally:
        if arguments.log:
            arguments.log.write_text(operator.log.read_text())
        operator.kill()
    return bench.figures


def own_kubeconfig(plane: ControlPlane) -> Path:
    """A kubeconfig of the operator's account, which has the rights that the chart grants."""
    ensure_namespace(plane.api)
    token = add_account(
        plane.api,
        ACCOUNT,
        NAMESPACE,
        cluster_rules=[*rules("cluster-role"), *rules("adoption")],
        own_rules=rules("role"),
    )
    return with_token(plane.kubeconfig, token, plane.kubeconfig.with_name("operator"))


def rules(what: str) -> list[Manifest]:
    """What one of the chart's files of rights grants."""
    return yaml.safe_load((RIGHTS / f"{what}-rules.yaml").read_text())


def fill(bench: Bench) -> None:
    """Make the nodes and the jobs."""
    api, figures = bench.api, bench.figures
    install_crds(api, ROOT / "crds")
    begun = time.monotonic()
    add_nodes(api, nodes(figures.nodes), say)
    figures.nodes_s = round(time.monotonic() - begun, 1)
    begun = time.monotonic()
    api.create_all(JOBS, map(bench.job, range(figures.jobs)))
    figures.jobs_s = round(time.monotonic() - begun, 1)
    say(f"{figures.jobs} jobs are there")


def nodes(count: int) -> Iterable[Manifest]:
    """Nodes of eight GPUs, ready from the start: KWOK need not make them ready one by one."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    for number in range(count):
        node = fake_node(f"n{number}", GPU, GPUS_PER_NODE)
        yield {**node, "status": {**node["status"], "conditions": [ready]}}


def job_path(number: int) -> str:
    """The path of a job."""
    return f"{JOBS}/job-{number}"


def end_job(api: ApiServer, number: int, workers: int) -> None:
    """End the pods of a job; one not made yet runs on until its job is deleted."""
    patch = {"metadata": {"annotations": {"plimsoll.dev/test-run-seconds": "0"}}}
    for rank in range(workers):
        with suppress(ApiServerRefusedError):
            api.merge(f"{PODS}/job-{number}-worker-{rank}", patch)


if __name__ == "__main__":
    main()
