"""A service under a changing load, on a real control plane and Prometheus, beside HPA and KEDA.

    python bench/live_autoscale.py --seconds 60 --json

The same requests go to three services: one is an InferenceJob, the others are Deployments that by
the same metric the HorizontalPodAutoscaler of a real kube-controller-manager scales, and a real
KEDA with that. KEDA is built from Go modules if need be; where that fails it is left out. Pods are
KWOK's and take a while to start; what they would do is computed in real time
(`plimsoll_bench/live/service.py`). Each kind of load lasts for `--seconds` of real time. In the
last part Prometheus is away. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from prometheus_client import CollectorRegistry, start_http_server

from plimsoll_bench.live.loads import OUTAGE, PARTS, rate_of_parts
from plimsoll_bench.live.rivals import HPA, KEDA, METRIC, PLIMSOLL, Rivals, requests_came
from plimsoll_bench.live.service import LiveService, ServiceTerms, Totals
from plimsoll_bench.live.service_metrics import service_metrics
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.gpu_models import L4
from plimsoll_devcluster.keda.process import Keda
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.programs import keda_program
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from plimsoll_devcluster.programs.workload_controllers import (
    NoWorkloadControllerError,
    find_controller,
)

ROOT = Path(__file__).parents[1]
NAMESPACE = "default"
LOOK_SECONDS = 0.25
NODES, GPUS = 6, 8
BUSY = 0.7
"""The share of a pod's maximum load at which all are set to run it."""


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description="A service under load, beside an HPA and KEDA.")
    parser.add_argument("--seconds", type=float, default=60, help="seconds of each kind of load")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="keep the operator's log here")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    figures = measured(arguments)
    if arguments.json:
        print_json(figures)
        return
    for part, arms in figures.items():
        for arm, values in arms.items():
            print(f"{part:16} {arm:9}", *(f"{name} {value}" for name, value in values.items()))
    require_finite(figures)


def measured(arguments: argparse.Namespace) -> dict[str, dict[str, dict[str, float]]]:
    """The figures of each part and service."""
    terms, folders = ServiceTerms(), _keda_folders()
    names = (PLIMSOLL, HPA, KEDA) if folders else (PLIMSOLL, HPA)
    rate = rate_of_parts(arguments.seconds)
    services = [LiveService(NAMESPACE, name, rate, terms, arguments.seed) for name in names]
    registry = CollectorRegistry()
    for service in services:
        registry.register(service)
    server, _ = start_http_server(0, "127.0.0.1", registry=registry)
    exporter = f"127.0.0.1:{server.server_port}"
    with (
        ControlPlane(find_programs(os.environ)) as plane,
        PrometheusServer(find_prometheus(os.environ), [exporter]) as prometheus,
    ):
        install_crds(plane.api, ROOT / "crds")
        add_nodes(plane.api, [fake_node(f"n-{i}", L4, GPUS) for i in range(NODES)])
        rivals = Rivals(plane.api, NAMESPACE, prometheus.url, BUSY * terms.requests_per_second)
        certificates = plane.kubeconfig.parent / "certificates"
        with (
            service_metrics(plane.api, prometheus.url, {METRIC: requests_came(HPA)}, certificates),
            _keda(folders, plane.kubeconfig),
            OperatorProcess(plane.kubeconfig, _environment(prometheus.url)) as operator,
        ):
            for name in names:
                rivals.apply(name)
            figures = _run(plane.api, services, prometheus, arguments.seconds)
            if arguments.log:
                arguments.log.write_text(operator.log.read_text())
    return figures


def _keda_folders() -> tuple[Path, Path] | None:
    """The folders of KEDA's programs; None, with the reason told, if they cannot be had."""
    try:
        return (
            find_controller(keda_program.KEDA, os.environ),
            find_controller(keda_program.KEDA_ADAPTER, os.environ),
        )
    except NoWorkloadControllerError as error:
        say(f"without KEDA: {error}")
        return None


@contextmanager
def _keda(folders: tuple[Path, Path] | None, kubeconfig: Path) -> Generator[None]:
    if folders is None:
        yield
        return
    with Keda(*folders, kubeconfig):
        yield


def _environment(url: str) -> dict[str, str]:
    looks = {"PLIMSOLL_LOAD_SECONDS": "1", "PLIMSOLL_LOAD_WINDOW_SECONDS": "10"}
    return {"PLIMSOLL_PROMETHEUS_URL": url, **looks}


def _run(
    api: ApiServer, services: list[LiveService], prometheus: PrometheusServer, seconds: float
) -> dict[str, dict[str, dict[str, float]]]:
    """Serve part after part; Prometheus is away in the last."""
    began = time.monotonic()
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for index, part in enumerate(PARTS):
        say(part.name)
        if part.name == OUTAGE:
            prometheus.stop()
        before = {service.name: replace(service.totals) for service in services}
        _serve(api, services, lambda: time.monotonic() - began, until=(index + 1) * seconds)
        figures[part.name] = {
            service.name: _figures(before[service.name], service.totals) for service in services
        }
    return figures


def _serve(
    api: ApiServer, services: list[LiveService], now: Callable[[], float], *, until: float
) -> None:
    while now() < until:
        pods = api.items(f"/api/v1/namespaces/{NAMESPACE}/pods?resourceVersion=0")
        for service in services:
            mine = [pod for pod in pods if _service_of(pod) == service.name]
            held = [_name(pod) for pod in mine if pod["status"].get("phase") == "Running"]
            service.advance(now(), [_name(pod) for pod in mine if _is_ready(pod)], held)
        time.sleep(LOOK_SECONDS)


def _figures(before: Totals, after: Totals) -> dict[str, float]:
    requests = after.requests - before.requests
    held = after.replica_seconds - before.replica_seconds
    needed = after.needed_seconds - before.needed_seconds
    return {
        "requests": requests,
        "late": requests - (after.in_time - before.in_time),
        "attainment_percent": round(100 * (after.in_time - before.in_time) / max(requests, 1), 2),
        "dropped": after.dropped - before.dropped,
        "replica_seconds": round(held),
        "cost_ratio": round(held / needed, 3) if needed else 0.0,
    }


def _name(pod: Manifest) -> str:
    return pod["metadata"]["name"]


def _service_of(pod: Manifest) -> str:
    labels: Mapping[str, str] = pod["metadata"].get("labels", {})
    return labels.get("plimsoll.dev/job-name") or labels.get("app", "")


def _is_ready(pod: Manifest) -> bool:
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = {c["type"]: c["status"] for c in pod["status"].get("conditions", [])}
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates", [])]
    return all(conditions.get(kind) == "True" for kind in ("Ready", *gates))


def say(text: str) -> None:
    """Report progress."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
