"""The console as the chart runs it, and the way to it that its users have."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import urllib3

from harness.deployed_operator import PODS
from harness.real_cluster import PATIENCE_SECONDS, RealCluster
from harness.release import NAMESPACE
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

CONSOLES = f"{PODS}?labelSelector=app.kubernetes.io/name=plimsoll-console"
PLUGINS = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
"""The environment in which kubectl finds our commands."""


class DeployedConsole:
    """The one pod of the console's Deployment."""

    def __init__(self, cluster: RealCluster) -> None:
        self._cluster = cluster

    def ready_pod(self) -> Manifest:
        """Wait until the console is ready; its pod."""
        found = wait_until(
            self._ready_pod, timeout_seconds=PATIENCE_SECONDS, what="the console is ready"
        )
        assert found is not None
        return found

    def crash(self) -> Manifest:
        """Kill it without a goodbye, and wait until it is ready anew; its pod."""
        before = self.ready_pod()
        self._cluster.crash(before)
        wait_until(
            lambda: started(self.ready_pod()) > started(before),
            timeout_seconds=PATIENCE_SECONDS,
            what="the console is started anew",
        )
        return self.ready_pod()

    def complaints(self) -> list[str]:
        """What was logged of missing rights, and errors."""
        name = self.ready_pod()["metadata"]["name"]
        lines = self._cluster.api.text(f"{PODS}/{name}/log").splitlines()
        return [ln for ln in lines if re.search(r"\b403\b|[Ff]orbidden|\"level\": \"error\"", ln)]

    def _ready_pod(self) -> Manifest | None:
        pods = [p for p in self._cluster.api.items(CONSOLES) if _is_ready(p)]
        return pods[0] if pods else None


def started(pod: Manifest) -> datetime:
    """When the container of a pod that is ready was started."""
    (container,) = pod["status"]["containerStatuses"]
    return datetime.fromisoformat(container["state"]["running"]["startedAt"])


def _is_ready(pod: Manifest) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


@dataclass(frozen=True, slots=True)
class Page:
    """The page at an address of this machine, and the token that it was opened with."""

    address: str
    token: str

    def text(self, path: str) -> str:
        """A file of the page."""
        answer = urllib3.request("GET", f"{self.address}/{path}", retries=False)
        assert answer.status == 200, (path, answer.status)
        return answer.data.decode()

    def get(self, path: str) -> tuple[int, Any]:
        """What the API answers to the token's bearer: status and JSON."""
        return self._asked("GET", path)

    def post(self, path: str, **body: object) -> tuple[int, Any]:
        """What it answers to a question."""
        return self._asked("POST", path, json.dumps(body))

    def _asked(self, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.address}/api/v1/{path}"
        answer = urllib3.request(method, url, headers=headers, body=body, retries=False)
        return answer.status, answer.json()


@contextmanager
def opened_page(kubeconfig: Path) -> Generator[Page]:
    """The page as `kubectl plimsoll ui` opens it for a kubeconfig's user, until the block ends."""
    command = ("kubectl", "plimsoll", "ui", "--no-browser", f"--namespace={NAMESPACE}")
    with subprocess.Popen(
        (*command, f"--kubeconfig={kubeconfig}"),
        env={**os.environ, **PLUGINS},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            address, _, token = str(process.stdout.readline()).strip().partition("/#token=")
            assert address.startswith("http://"), "it has said why not"
            yield Page(address, unquote(token))
        finally:
            process.kill()
