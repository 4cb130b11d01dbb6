"""How soon another replica acts when the leader dies, and whether anything is duplicated or lost.

    python bench/failover.py --kills 20 --json

Two replicas of the operator on a real control plane with KWOK nodes, while jobs come and go. The
leader is killed repeatedly and comes back as the standby; then the new leader is killed. Measured
is the time from the kill to the new leader's first write of a job or a pod, as it counts itself;
`--stops` does the same with SIGTERM, after which the lease is handed over. A witness watches every
pod throughout, and a checker inspects the cluster at the end; neither shares code with the
operator. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.checker import complaints
from plimsoll_devcluster.histories.script import Lane
from plimsoll_devcluster.histories.sight import Sight, world_of
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

ROOT = Path(__file__).parents[1]
NAMESPACE = "default"
JOBS = f"/apis/plimsoll.dev/v1alpha1/namespaces/{NAMESPACE}/trainingjobs"
ACTS = ("pods", "services", "trainingjobs/status")
PATIENCE_SECONDS = 120.0


@dataclass
class Figures:
    """What is reported; seconds from the leader's end to the other's first act."""

    kills: int
    kill_to_lead_p50_s: float
    kill_to_lead_max_s: float
    kill_to_act_p50_s: float
    kill_to_act_max_s: float
    stops: int
    stop_to_lead_p50_s: float
    stop_to_lead_max_s: float
    stop_to_act_p50_s: float
    stop_to_act_max_s: float
    jobs: int
    """How many jobs came in total."""
    violations: list[str]


class Churn:
    """Jobs that come and go, by a thread: each lives while `alive` others come."""

    def __init__(self, api: ApiServer, lane: Lane, *, alive: int, pause_seconds: float) -> None:
        self._api, self._lane = api, lane
        self._alive, self._pause_seconds = alive, pause_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self.count = 0

    def start(self) -> None:
        """Start."""
        self._thread.start()

    def end(self) -> None:
        """Stop creating and deleting jobs."""
        self._over.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._over.wait(self._pause_seconds):
            name = f"job-{self.count}"
            self._lane.jobs[name] = self._api.create(JOBS, job(name, workers=1 + self.count % 2))
            self.count += 1
            if len(self._lane.jobs) > self._alive:
                oldest = next(iter(self._lane.jobs))
                self._api.delete(f"{JOBS}/{oldest}")
                del self._lane.jobs[oldest]


def main() -> None:
    """Run it and print the figures; the exit status says whether anything was violated."""
    parser = argparse.ArgumentParser(description="How soon does another replica act?")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds from job to job")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    programs = find_programs(os.environ)
    with ControlPlane(programs, service_account_admission=False) as plane:
        install_crds(plane.api, ROOT / "crds")
        figures = measured(plane, arguments)
    found = vars(figures)
    if arguments.json:
        print_json(found)
    else:
        print("\n".join(f"{k:14} {found[k]}" for k in found))
        require_finite(found)
    sys.exit(1 if figures.violations else 0)


def measured(plane: ControlPlane, arguments: argparse.Namespace) -> Figures:
    """All of it on one cluster."""
    nodes = [fake_node(f"n{i}", H100, 8) for i in range(arguments.nodes)]
    lane = Lane(NAMESPACE, nodes={node["metadata"]["name"]: node for node in nodes})
    add_nodes(plane.api, nodes)
    churn = Churn(plane.api, lane, alive=8 * arguments.nodes, pause_seconds=arguments.pause)
    with Sight(plane.api) as sight, replicas(plane) as both:
        sight.expect(lane)
        churn.start()
        kills = ends(both, arguments.kills, OperatorProcess.kill)
        stops = ends(both, arguments.stops, OperatorProcess.stop)
        churn.end()
        left = at_rest(plane.api, lane)
        violations = [*left, *sight.witness.violations[NAMESPACE]]
    of_kills, of_stops = summary(kills), summary(stops)
    return Figures(
        kills=len(kills),
        kill_to_lead_p50_s=of_kills[0],
        kill_to_lead_max_s=of_kills[1],
        kill_to_act_p50_s=of_kills[2],
        kill_to_act_max_s=of_kills[3],
        stops=len(stops),
        stop_to_lead_p50_s=of_stops[0],
        stop_to_lead_max_s=of_stops[1],
        stop_to_act_p50_s=of_stops[2],
        stop_to_act_max_s=of_stops[3],
        jobs=churn.count,
        violations=violations,
    )


@contextmanager
def replicas(plane: ControlPlane) -> Generator[list[OperatorProcess]]:
    """Yield the leader and the standby, in this order."""
    with OperatorProcess(plane.kubeconfig) as leader:
        other = OperatorProcess(plane.kubeconfig)
        stand_by(other)
        try:
            yield [leader, other]
        finally:
            other.__exit__(None, None, None)


def stand_by(replica: OperatorProcess) -> None:
    """Start a replica that does not lead, and wait until it knows the cluster."""
    replica.launch()
    wait_until(partial(is_ready, replica), timeout_seconds=PATIENCE_SECONDS, what="it stands by")


def is_ready(replica: OperatorProcess) -> bool:
    """Whether it reports ready; it reports nothing at first."""
    try:
        return replica.probe("/readyz")[0] == 200  # noqa: PLR2004 - HTTP's OK
    except (LookupError, OSError):
        return False


def ends(
    both: list[OperatorProcess], times: int, end: Callable[[OperatorProcess], object]
) -> list[tuple[float, float]]:
    """End the leader this many times, swapping the two; after how long the other led, and acted."""
    found: list[tuple[float, float]] = []
    for _ in range(times):
        leader, other = both
        before, begun = acts(other), time.monotonic()
        ending = threading.Thread(target=end, args=(leader,))
        ending.start()
        leads = after(begun, lambda other=other: other.metric("plimsoll_leader") == 1)
        acted = after(begun, lambda other=other, before=before: acts(other) > before)
        found.append((leads, acted))
        ending.join()
        say(f"leads after {leads:.2f} s, acts after {acted:.2f} s")
        stand_by(leader)
        both.reverse()
    return found


def after(begun: float, condition: Callable[[], bool]) -> float:
    """Wait until a condition holds; the seconds from `begun` until then."""
    wait_until(condition, timeout_seconds=PATIENCE_SECONDS, what="the other has taken over")
    return time.monotonic() - begun


def acts(replica: OperatorProcess) -> float:
    """How many writes of jobs and pods it counts."""
    return sum(replica.metric("plimsoll_api_writes_total", resource=each) for each in ACTS)


def at_rest(api: ApiServer, lane: Lane) -> list[str]:
    """What is still wrong after everything had time to settle."""
    wrong: list[str] = []

    def is_well() -> bool:
        wrong[:] = complaints(world_of(api).within(NAMESPACE, lane.nodes), lane)
        return not wrong

    try:
        wait_until(is_well, timeout_seconds=PATIENCE_SECONDS, what="the cluster is at rest")
    except TimeoutError:
        say("not at rest")
    return wrong


def summary(found: list[tuple[float, float]]) -> list[float]:
    """Median and maximum until the other led, and until it acted; 0 if there are none."""
    leads, acted = zip(*(found or [(0.0, 0.0)]), strict=True)
    times = (statistics.median(leads), max(leads), statistics.median(acted), max(acted))
    return [round(each, 2) for each in times]


def job(name: str, *, workers: int) -> Manifest:
    """A gang of one or two."""
    template = {"spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}}
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {
            "workers": {"min": workers, "gpusPerWorker": 1, "template": template},
            "accelerators": [{"type": H100, "throughput": [{"workers": workers, "rate": workers}]}],
        },
    }


def say(text: str, write: Callable[[str], object] = sys.stderr.write) -> None:
    """Report progress."""
    write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
