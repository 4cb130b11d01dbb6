"""Prometheus as a pod, which scrapes the gateway in its namespace."""

import json
import os
from pathlib import Path

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from traffic.gateway import STATISTICS_PORT
from traffic.machine_program import container_with, volume
from traffic.users import GATEWAY, until_ready

NAME = "prometheus"
PORT = 9090
SCRAPE_INTERVAL = "1s"


def run_prometheus(api: ApiServer, namespace: str, *, image: str, shared: Path) -> str:
    """Run it in any image with a C library, and wait until it is ready; its URL."""
    core = f"/api/v1/namespaces/{namespace}"
    config = json.dumps(_config(f"{GATEWAY}:{STATISTICS_PORT}"))
    data = {"metadata": {"name": NAME}, "data": {"prometheus.yml": config}}
    api.create(f"{core}/configmaps", data)
    spec = {"selector": {"app": NAME}, "ports": [{"port": PORT}]}
    api.create(f"{core}/services", {"metadata": {"name": NAME}, "spec": spec})
    api.create(f"{core}/pods", _pod(image, shared))
    until_ready(api, f"{core}/pods/{NAME}")
    return f"http://{NAME}.{namespace}:{PORT}"


def _config(target: str) -> Manifest:
    # Without service discovery: the program may have been built without it.
    job = {"job_name": "gateway", "static_configs": [{"targets": [target]}]}
    timing = {"scrape_interval": SCRAPE_INTERVAL, "scrape_timeout": SCRAPE_INTERVAL}
    return {"global": timing, "scrape_configs": [job]}


def _pod(image: str, shared: Path) -> Manifest:
    config, data = f"/{NAME}-config", f"/{NAME}-data"
    arguments = [
        f"--config.file={config}/prometheus.yml",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=:{PORT}",
    ]
    program = find_prometheus(os.environ)
    container = container_with(program, arguments, image=image, shared=shared)
    container["readinessProbe"] = {
        "httpGet": {"path": "/-/ready", "port": PORT},
        "periodSeconds": 1,
    }
    container["volumeMounts"] += [
        {"name": "config", "mountPath": config},
        {"name": "data", "mountPath": data},
    ]
    volumes: list[Manifest] = [
        volume(),
        {"name": "config", "configMap": {"name": NAME}},
        {"name": "data", "emptyDir": {}},
    ]
    spec = {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 0}
    return {"metadata": {"name": NAME, "labels": {"app": NAME}}, "spec": spec}
