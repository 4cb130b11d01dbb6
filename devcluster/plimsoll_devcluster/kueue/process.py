"""Kueue as a child of this process, beside a control plane.

It makes the certificate of its webhooks, keeps it in a Secret, and has the API server trust it. In
a cluster the kubelet mounts that Secret; here we write it to a folder, for which Kueue waits.
"""

import base64
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Self

import urllib3
import yaml

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import DEFINITIONS, install_crds
from plimsoll_devcluster.kueue.configuration import (
    FEATURES,
    NAMESPACE,
    SECRET,
    SERVICE,
    admission,
    configuration,
    conversion,
)
from plimsoll_devcluster.manifest import Manifest, manifests_in, named
from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.credentials import write_secret
from plimsoll_devcluster.processes.lifetime import RunsInside, wait_while_running
from plimsoll_devcluster.processes.ports import free_port
from plimsoll_devcluster.programs.kueue_program import KUEUE
from plimsoll_devcluster.programs.workload_controllers import CRDS, WEBHOOKS
from plimsoll_devcluster.workload_controllers.webhooks import path_of

START_SECONDS = 120.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
_IN_NAMESPACE = f"/api/v1/namespaces/{NAMESPACE}"
_CERTIFICATE = ("tls.crt", "tls.key")
_WRONG = {"kueue.x-k8s.io/job-min-parallelism": "none"}


class KueueFailedError(Exception):
    """Kueue has ended, or does not start; the message ends with its last log lines."""


class Kueue(RunsInside):
    """Kueue for a control plane on this machine, to be started once. Use it as a context manager.

    `folder` is that of `find_controller`. What it has made stays when it stops; its webhooks go.
    """

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        super().__init__("kueue")
        self._programs, self._kubeconfig = folder, kubeconfig
        self._api = ApiServer(kubeconfig)
        self._webhook_port, self._probe_port = free_port(), free_port()
        self._http = urllib3.PoolManager(retries=False, timeout=5)
        self._webhooks: list[str] = []
        self._child: Child | None = None

    @property
    def log(self) -> Path:
        """What it logs."""
        return self._path / "kueue.log"

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    def start(self) -> Self:
        """Start it, and wait until the API server asks its webhooks. Raises KueueFailedError."""
        ending.undo_at_end(self.stop)
        install_crds(self._api, self._programs / CRDS)
        self._install()
        self._launch()
        self._wait(self._has_certificate, "Kueue has made its certificate")
        self._wait(self._is_ready, "Kueue is ready")
        self._wait(self._is_asked, "the webhooks of Kueue are asked")
        return self

    def stop(self) -> None:
        """Remove its webhooks and end it, as a crash would. Calling it again does nothing."""
        ending.forget(self.stop)
        while self._webhooks:
            self._api.delete(self._webhooks.pop())
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _install(self) -> None:
        """Its namespace, its Secret, the Service that leads here, and its webhooks."""
        api = self._api
        api.apply(_IN_NAMESPACE, named("Namespace", NAMESPACE))
        api.apply(f"{_IN_NAMESPACE}/secrets/{SECRET}", named("Secret", SECRET))
        leads_here: Manifest = {"type": "ExternalName", "externalName": "localhost"}
        service = {**named("Service", SERVICE), "spec": leads_here}
        api.apply(f"{_IN_NAMESPACE}/services/{SERVICE}", service)
        for name, patch in conversion(self._webhook_port).items():
            api.merge(f"{DEFINITIONS}/{name}", patch)
        file = self._programs / WEBHOOKS / "manifests.yaml"
        for each in admission(manifests_in(file.read_text()), self._webhook_port):
            path = path_of(each)
            api.apply(path, each)
            self._webhooks.append(path)

    def _launch(self) -> None:
        config = self._path / "config.yaml"
        ports = (self._webhook_port, self._probe_port)
        config.write_text(yaml.safe_dump(configuration(self._path, *ports)))
        features = ",".join(f"{name}={str(on).lower()}" for name, on in FEATURES.items())
        self._child = Child(
            [
                str(self._programs / KUEUE.name),
                f"--config={config}",
                f"--feature-gates={features}",
                "--zap-log-level=error",
            ],
            self.log,
            environment={"KUBECONFIG": str(self._kubeconfig)},
        )

    def _has_certificate(self) -> bool:
        """Whether there is one; if so, it is where Kueue looks for it."""
        data = self._api.get(f"{_IN_NAMESPACE}/secrets/{SECRET}").get("data", {})
        if not all(data.get(name) for name in _CERTIFICATE):
            return False
        for name in reversed(_CERTIFICATE):  # Kueue goes on once it sees the certificate.
            write_secret(self._path / name, base64.b64decode(data[name]).decode())
        return True

    def _is_ready(self) -> bool:
        try:
            answer = self._http.request("GET", f"http://127.0.0.1:{self._probe_port}/readyz")
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == HTTPStatus.OK

    def _is_asked(self) -> bool:
        """Whether the webhooks suspend a Job that has a queue, and refuse one that is wrong.

        The API server notices each of the two configurations for itself.
        """
        try:
            made = self._api.create(f"{JOBS}?dryRun=All", _job({}))
        except ApiServerRefusedError:
            return False
        try:
            self._api.create(f"{JOBS}?dryRun=All", _job(_WRONG))
        except ApiServerRefusedError as error:
            return made["spec"].get("suspend") is True and "denied the request" in str(error)
        return False

    def _running(self) -> Child:
        if self._child is None:
            raise RuntimeError("Kueue was not started")
        return self._child

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        wait_while_running(
            [self._running()], condition, seconds=START_SECONDS, what=what, failed=KueueFailedError
        )


def _job(notes: Manifest) -> Manifest:
    labels = {"kueue.x-k8s.io/queue-name": "probe"}
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    metadata = {"name": "probe", "labels": labels, "annotations": notes}
    return {
        **named("Job", "probe", "batch/v1"),
        "metadata": metadata,
        "spec": {"template": template},
    }
