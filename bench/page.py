"""How fast the console's page is, and what those who look cost the operator.

    python bench/page.py --json

On a real control plane with fake nodes, the operator and the console as processes, and a Chromium
without a window:

- `first_paint_s_100`, `first_paint_s_10000`: from opening the page, signed in, with nothing cached,
  until the map of so many nodes is drawn; the median of `--visits`
- `update_s`: from a node being closed until its picture says so; the slowest of `--changes`
- `operator_cpu_percent`: how much more processor time the operator takes while `--viewers` follow
  each change, in percent of what it takes while nobody looks; jobs come and go all the while
- `axe_serious`: what axe-core finds serious or critical in all views, in light, dark and on a phone

One JSON object goes to standard output, progress to standard error. It fails where the page says
anything that it should not, or shows less than there is.
"""

import argparse
import os
import secrets
import statistics
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Final

import yaml
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from control_plane import ROOT, cpu_seconds, family, say
from plimsoll_bench.output import print_json
from plimsoll_bench.page.viewers import Viewers
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import NODES, RACK, add_nodes, fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.page_visit import DESK, PHONE, Colours, Visit, visit
from plimsoll_devcluster.programs.axe_script import find_axe
from plimsoll_devcluster.programs.chromium_program import find_chromium
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

GROUP: Final = "/apis/plimsoll.dev/v1alpha1"
JOBS: Final = f"{GROUP}/namespaces/default/trainingjobs"
FEW: Final = 100
MANY: Final = 10_000
GPUS: Final = 8
RUNNING: Final = 40
NODES_IN_A_RACK: Final = 20
SECONDS: Final = 300.0
VIEWS: Final = (("map",), ("queue",), ("power",), ("money",), ("history",))
LOOKS: Final[Sequence[tuple[Colours, ViewportSize]]] = (
    ("light", DESK),
    ("dark", DESK),
    ("light", PHONE),
)
# Two frames after so much is in the document, it has been painted.
DRAWN: Final = """count => new Promise((done) => {
  const look = () => document.querySelectorAll(".node, .tile").length >= count
    ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() / 1000)))
    : setTimeout(look, 5);
  look();
})"""
WATCH: Final = """() => {
  window.seen = {};
  setInterval(() => {
    for (const { textContent } of document.querySelectorAll(".node.closed .node-name")) {
      window.seen[textContent] ??= Date.now() / 1000;
    }
  }, 5);
}"""


@dataclass
class Figures:
    """What is reported."""

    visits: int
    changes: int
    viewers: int
    first_paint_s_100: float = 0.0
    first_paint_s_10000: float = 0.0
    update_s: float = 0.0
    update_median_s: float = 0.0
    operator_cpu_percent: float = 0.0
    operator_core_percent_alone: float = 0.0
    operator_core_percent_viewed: float = 0.0
    views_fetched: int = 0
    axe_serious: int = 0
    findings: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    path: str = "operator"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster with its operator and its console, and a browser to look at it."""

    api: ApiServer
    operator: OperatorProcess
    console: ConsoleProcess
    browser: Browser
    token: str

    @contextmanager
    def page(self) -> Generator[Visit]:
        """Its page, in a new browser's profile, which must have nothing to complain of."""
        with visit(self.browser, self.console.url) as page:
            yield page
            _require_quiet(page)


def main() -> int:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description="How fast is the console's page?")
    parser.add_argument("--visits", type=_positive, default=5)
    parser.add_argument("--changes", type=_positive, default=20)
    parser.add_argument("--viewers", type=_positive, default=20)
    parser.add_argument("--windows", type=_positive, default=4, help="of each kind, alternating")
    parser.add_argument("--window-seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true", help="print only the JSON object")
    given = parser.parse_args()
    figures = Figures(given.visits, given.changes, given.viewers)
    with _browser() as browser:
        with _cluster(browser, FEW) as cluster:
            figures.first_paint_s_100 = _first_paint(cluster, FEW, given.visits)
            _time_updates(cluster, figures)
            _look_for_findings(cluster, figures)
            _compare_loads(cluster, figures, given.windows, given.window_seconds)
        with _cluster(browser, MANY) as cluster:
            racks = MANY // NODES_IN_A_RACK
            figures.first_paint_s_10000 = _first_paint(cluster, racks, given.visits)
    print_json(asdict(figures), indent=None if given.json else 2)
    return 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


@contextmanager
def _browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(os.environ))
        yield browser
        browser.close()


@contextmanager
def _cluster(browser: Browser, nodes: int) -> Generator[Cluster]:
    """A cluster of so many nodes, on some of which jobs run."""
    with ControlPlane(find_programs(os.environ), taints_new_nodes=False) as plane:
        install_crds(plane.api, ROOT / "crds")
        say(f"{nodes} nodes")
        add_nodes(plane.api, (_node(number) for number in range(nodes)))
        for kind, plural in (("GPUPool", "gpupools"), ("JobQueue", "jobqueues")):
            manifest = _cluster_object(kind)
            plane.api.apply(f"{GROUP}/{plural}/{manifest['metadata']['name']}", manifest)
        config = yaml.safe_load(plane.kubeconfig.read_text())
        token = str(config["users"][0]["user"]["token"])
        with OperatorProcess(plane.kubeconfig) as operator:
            for number in range(RUNNING):
                plane.api.apply(f"{JOBS}/job-{number}", _job(f"job-{number}", gpus=GPUS))
            wait_until(
                lambda: _running(plane.api) == RUNNING, timeout_seconds=SECONDS, what="jobs run"
            )
            with ConsoleProcess(plane.kubeconfig) as console:
                yield Cluster(plane.api, operator, console, browser, token)


def _running(api: ApiServer) -> int:
    statuses = (job.get("status", {}) for job in api.items(JOBS))
    return sum(status.get("reason") == "Running" for status in statuses)


def _first_paint(cluster: Cluster, drawn: int, visits: int) -> float:
    """The median of the seconds until so many nodes or groups are drawn."""
    return round(statistics.median(_painted(cluster, drawn) for _ in range(visits)), 3)


def _painted(cluster: Cluster, drawn: int) -> float:
    with cluster.page() as page:
        page.page.goto(f"{page.url}/#token={cluster.token}", wait_until="commit")
        seconds = float(page.page.evaluate(DRAWN, drawn))
        say(f"{drawn} drawn after {seconds:.2f} s")
        return seconds


def _time_updates(cluster: Cluster, figures: Figures) -> None:
    with cluster.page() as page:
        page.sign_in(cluster.token)
        page.go("map")
        page.page.evaluate(WATCH)
        took = [_update(cluster.api, page, f"node-{n:05}") for n in range(figures.changes)]
    figures.update_s = round(max(took), 3)
    figures.update_median_s = round(statistics.median(took), 3)


def _update(api: ApiServer, page: Visit, node: str) -> float:
    began = time.time()
    api.merge(f"{NODES}/{node}", {"spec": {"unschedulable": True}})
    said = page.page.wait_for_function("name => window.seen[name]", arg=node)
    seconds = float(said.json_value()) - began
    say(f"{node} closed after {seconds:.2f} s")
    return seconds


def _look_for_findings(cluster: Cluster, figures: Figures) -> None:
    for colours, size in LOOKS:
        axe = find_axe(os.environ)
        with visit(cluster.browser, cluster.console.url, axe, colours=colours, size=size) as page:
            page.sign_in(cluster.token)
            for parts in (*VIEWS, ("jobs", "TrainingJob", "default", "job-0")):
                page.go(*parts)
                for rule, where in page.findings().items():
                    name = f"{rule} in {parts[0]}, {colours}, {size['width']} wide"
                    figures.findings[name] = where
            _require_quiet(page)
    figures.axe_serious = sum(map(len, figures.findings.values()))


def _compare_loads(cluster: Cluster, figures: Figures, windows: int, seconds: float) -> None:
    """Measure the operator in turn without viewers and with them, under the same churn."""
    alone: list[float] = []
    viewed: list[float] = []
    with _churn(cluster.api):
        for _ in range(windows):
            alone.append(_core_percent(cluster.operator, seconds))
            with Viewers(cluster.console.url, cluster.token, figures.viewers) as viewers:
                before = viewers.fetched
                viewed.append(_core_percent(cluster.operator, seconds))
                figures.views_fetched += viewers.fetched - before
            if viewers.failures:
                raise SystemExit(f"viewers failed: {viewers.failures[:3]}")
            say(f"operator: {alone[-1]:.1f} % of a core alone, {viewed[-1]:.1f} % viewed")
    if figures.views_fetched < figures.viewers * windows:
        raise SystemExit(f"{figures.viewers} viewers asked for {figures.views_fetched} views only")
    figures.operator_core_percent_alone = round(statistics.mean(alone), 2)
    figures.operator_core_percent_viewed = round(statistics.mean(viewed), 2)
    growth = statistics.mean(viewed) / statistics.mean(alone) - 1
    figures.operator_cpu_percent = round(100 * growth, 2)


def _core_percent(operator: OperatorProcess, seconds: float) -> float:
    """The processor time that the operator takes, its solver with it."""
    began, before = time.monotonic(), _cpu(operator)
    time.sleep(seconds)
    return 100 * (_cpu(operator) - before) / (time.monotonic() - began)


def _cpu(operator: OperatorProcess) -> float:
    return sum(map(cpu_seconds, family(operator.pid)))


@contextmanager
def _churn(api: ApiServer) -> Generator[None]:
    """A job comes each second, and the one before it goes."""
    ended = threading.Event()

    def come_and_go() -> None:
        before = ""
        while not ended.wait(1.0):
            name = f"comes-{secrets.token_hex(4)}"
            api.create(JOBS, _job(name, gpus=1))
            if before:
                api.delete(f"{JOBS}/{before}")
            before = name

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _require_quiet(page: Visit) -> None:
    if page.said:
        raise SystemExit(f"the browser complains: {page.said[:3]}")


def _node(number: int) -> Manifest:
    kind = H100 if number % 2 else A100
    rack = f"rack-{number // NODES_IN_A_RACK:03}"
    return fake_node(f"node-{number:05}", kind, GPUS, labels={RACK: rack})


def _cluster_object(kind: str) -> Manifest:
    head = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": kind, "metadata": {"name": "default"}}
    levels = [{"name": "rack", "label": RACK}]
    if kind == "GPUPool":
        return {**head, "spec": {"nodeSelector": {"type": "kwok"}, "topologyKeys": levels}}
    return {**head, "spec": {}}


def _job(name: str, *, gpus: int) -> Manifest:
    container = {"name": "main", "image": "train", "resources": {"requests": {"cpu": "1"}}}
    workers = {
        "min": 1,
        "max": 1,
        "gpusPerWorker": gpus,
        "template": {"spec": {"containers": [container]}},
    }
    rates = [{"type": kind, "throughput": [{"workers": 1, "rate": 1}]} for kind in (H100, A100)]
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {"workers": workers, "accelerators": rates},
    }


if __name__ == "__main__":
    sys.exit(main())
