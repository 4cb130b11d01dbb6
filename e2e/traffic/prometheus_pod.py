"""Prometheus as a pod, which scrapes the gateway in its namespace.

Its program is this machine's, in the folder that the nodes share with it: it needs no image of its
own.
"""

import json
import os
import shutil
from pathlib import Path

from harness.real_cluster import SHARED
from harness.stand_ins import SMALL
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from traffic.users import GATEWAY, METRICS_PORT, until_ready

NAME = "prometheus"
PORT = 9090
SCRAPE_INTERVAL = "1s"


def run_prometheus(api: ApiServer, namespace: str, *, image: str, shared: Path) -> str:
    """Run it in any image with a C library, and wait until it is ready; its URL."""
    program = shared / NAME
    if not program.exists():
        shutil.copy(find_prometheus(os.environ), program)
    core = f"/api/v1/namespaces/{namespace}"
    config = json.dumps(_config(f"{GATEWAY}:{METRICS_PORT}"))
    data = {"metadata": {"name": NAME}, "data": {"prometheus.yml": config}}
    api.create(f"{core}/configmaps", data)
    spec = {"selector": {"app": NAME}, "ports": [{"port": PORT}]}
    api.create(f"{core}/services", {"metadata": {"name": NAME}, "spec": spec})
    api.create(f"{core}/pods", _pod(image))
    until_ready(api, f"{core}/pods/{NAME}")
    return f"http://{NAME}.{namespace}:{PORT}"


def _config(target: str) -> Manifest:
    # Without service discovery: the program may have been built without it.
    job = {"job_name": "gateway", "static_configs": [{"targets": [target]}]}
    timing = {"scrape_interval": SCRAPE_INTERVAL, "scrape_timeout": SCRAPE_INTERVAL}
    return {"global": timing, "scrape_configs": [job]}


def _pod(image: str) -> Manifest:
    program, data = f"/{NAME}/{NAME}", f"/{NAME}-data"
    command = [
        program,
        f"--config.file=/{NAME}-config/prometheus.yml",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=:{PORT}",
    ]
    mounts = {"program": f"/{NAME}", "config": f"/{NAME}-config", "data": data}
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": PORT}, "periodSeconds": 1},
        "resources": {"requests": dict(SMALL)},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
    }
    volumes: list[Manifest] = [
        {"name": "program", "hostPath": {"path": SHARED, "type": "Directory"}},
        {"name": "config", "configMap": {"name": NAME}},
        {"name": "data", "emptyDir": {}},
    ]
    spec = {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 0}
    return {"metadata": {"name": NAME, "labels": {"app": NAME}}, "spec": spec}
