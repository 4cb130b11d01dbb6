"""A service under a changing load, on a real control plane and a real Prometheus, beside an HPA.

    python bench/live_autoscale.py --seconds 60 --json

The same requests go to two services: one is an InferenceJob, the other a Deployment that the
HorizontalPodAutoscaler of a real kube-controller-manager scales by the same metric. Pods are KWOK's
and take a while to start; what they would do is computed in real time
(`plimsoll_bench/live/service.py`). Each kind of load lasts for `--seconds` of real time. In the
last part Prometheus is away. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from prometheus_client import CollectorRegistry, start_http_server

from plimsoll_bench.live.external_metrics import external_metrics
from plimsoll_bench.live.service import LiveService, Rate, ServiceTerms, Totals
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.gpu_models import L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.programs.prometheus_program import find_prometheus

ROOT = Path(__file__).parents[1]
NAMESPACE = "default"
LOOK_SECONDS = 0.25
WINDOW = "10s"
MOST_REPLICAS = 16
START_SECONDS = 6
DOWN_WINDOW_SECONDS = 30
BUSY = 0.7
"""The share of a pod's maximum load at which both are set to run it."""
OUTAGE = "prometheus_away"


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of load: requests per second at a moment of it from 0 to 1."""

    name: str
    rate: Rate


def _through(*points: tuple[float, float]) -> Rate:
    """A piecewise linear rate through points of moments and rates."""
    moments, rates = zip(*points, strict=True)
    return lambda at: float(np.interp(at, moments, rates))


def _wave(mean: float, height: float) -> Rate:
    """Two days, one after the other."""
    return lambda at: mean + height * math.sin(4 * math.pi * at)


PARTS = (
    Part("start", _through((0, 40))),
    Part("step", _through((0, 120))),
    Part("ramp", _through((0, 120), (0.5, 30), (1, 150))),
    Part("spike", _through((0, 40), (0.4, 40), (0.401, 170), (0.65, 170), (0.651, 40))),
    Part("wave", _wave(90, 60)),
    Part(OUTAGE, _wave(90, 10)),
)


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description="A service under load, beside an HPA.")
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
    rate = _rate(arguments.seconds)
    terms = ServiceTerms()
    services = [
        LiveService(NAMESPACE, name, rate, terms, arguments.seed) for name in ("plimsoll", "hpa")
    ]
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
        add_nodes(plane.api, [fake_node(f"n-{i}", L4, 8) for i in range(4)])
        certificates = plane.kubeconfig.parent / "certificates"
        queries = {"requests": _requests_came("hpa")}
        with (
            external_metrics(plane.api, prometheus.url, queries, certificates),
            OperatorProcess(plane.kubeconfig, _environment(prometheus.url)) as operator,
        ):
            _apply(plane.api, terms)
            figures = _run(plane.api, services, prometheus, arguments.seconds)
            if arguments.log:
                arguments.log.write_text(operator.log.read_text())
    return figures


def _rate(seconds: float) -> Rate:
    def rate(at: float) -> float:
        index = min(int(at / seconds), len(PARTS) - 1)
        return PARTS[index].rate(at / seconds - index)

    return rate


def _environment(url: str) -> dict[str, str]:
    looks = {"PLIMSOLL_LOAD_SECONDS": "1", "PLIMSOLL_LOAD_WINDOW_SECONDS": "10"}
    return {"PLIMSOLL_PROMETHEUS_URL": url, **looks}


def _requests_came(service: str) -> str:
    return f'sum(rate(gateway_requests_total{{service="{service}"}}[{WINDOW}]))'


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
        "attainment_percent": round(100 * (after.in_time - before.in_time) / max(requests, 1), 2),
        "dropped": after.dropped - before.dropped,
        "replica_seconds": round(held),
        "cost_ratio": round(held / needed, 3),
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


def _apply(api: ApiServer, terms: ServiceTerms) -> None:
    """The same pods as an InferenceJob, and as a Deployment with an HPA."""
    carries = BUSY * terms.requests_per_second
    container = {"name": "main", "image": "serve", "resources": {"requests": {"cpu": "1"}}}
    annotations = {"plimsoll.dev/test-start-seconds": str(START_SECONDS)}
    job = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "InferenceJob",
        "metadata": {"name": "plimsoll"},
        "spec": {
            "roles": [
                {
                    "name": "server",
                    "replicas": {"min": 1, "max": MOST_REPLICAS},
                    "gpusPerReplica": 1,
                    "drain": "5s",
                    "template": {
                        "metadata": {"annotations": annotations},
                        "spec": {"containers": [container]},
                    },
                    "profiles": [{"type": L4, "load": str(carries)}],
                }
            ],
            "load": {
                "queries": [{"name": "Load", "query": _requests_came("plimsoll")}],
                "forecast": {"horizon": f"{2 * START_SECONDS}s"},
            },
            "scaling": {"down": {"stabilizationWindow": f"{DOWN_WINDOW_SECONDS}s"}},
        },
    }
    group = f"/apis/plimsoll.dev/v1alpha1/namespaces/{NAMESPACE}"
    api.apply(f"{group}/inferencejobs/plimsoll", job)
    labels = {"app": "hpa"}
    gpu = {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": "1"}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "hpa"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": {"containers": [{**container, "resources": gpu}]},
            },
        },
    }
    api.apply(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/hpa", deployment)
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "hpa"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "hpa"},
            "minReplicas": 1,
            "maxReplicas": MOST_REPLICAS,
            "metrics": [_external(carries)],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": DOWN_WINDOW_SECONDS}},
        },
    }
    path = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers/hpa"
    api.apply(path, autoscaler)


def _external(carries: float) -> Manifest:
    target = {"type": "AverageValue", "averageValue": f"{int(carries * 1000)}m"}
    return {"type": "External", "external": {"metric": {"name": "requests"}, "target": target}}


def say(text: str) -> None:
    """Report progress."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
