"""One controller as a child of this process, beside a control plane."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3
import yaml

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.credentials import write_secret
from plimsoll_devcluster.processes.lifetime import wait_while_running
from plimsoll_devcluster.processes.ports import free_port
from plimsoll_devcluster.programs.workload_controllers import CRDS, OBJECTS, WEBHOOKS
from plimsoll_devcluster.workload_controllers.kinds import LOOPBACK, ControllerKind, Place
from plimsoll_devcluster.workload_controllers.webhooks import configurations, path_of

START_SECONDS = 60.0
OBJECTS_PATH = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"


class WorkloadControllerFailedError(Exception):
    """A controller cannot run here, or has ended; the message says why."""


class WorkloadController:
    """A controller with its kinds' definitions and its webhooks. Use it as a context manager.

    `folder` is that of `find_controller`. Its webhooks serve with the certificate of the control
    plane's API server, which that has made for loopback: so it runs beside one on this machine. It
    can be started and stopped repeatedly. The definitions stay when it stops, as objects of theirs
    may.
    """

    def __init__(self, kind: ControllerKind, folder: Path, kubeconfig: Path) -> None:
        self._kind, self._programs, self._kubeconfig = kind, folder, kubeconfig
        self._api = ApiServer(kubeconfig)
        # To stop with: a signal may interrupt the other one while it is in use.
        self._last_api = ApiServer(kubeconfig)
        self._webhooks: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix=f"plimsoll-{self._name}-")
        self._place = Place(Path(self._folder.name), free_port(), free_port(), free_port())
        self._child: Child | None = None
        self._http = urllib3.PoolManager(retries=False, timeout=5)

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self._place.folder

    @property
    def log(self) -> Path:
        """What it logs."""
        return self._place.folder / f"{self._name}.log"

    def start(self) -> Self:
        """Start it, and wait until the API server asks its webhooks.

        Raises WorkloadControllerFailedError.
        """
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def is_running(self) -> bool:
        """Whether it runs."""
        return self._child is not None and self._child.is_running()

    def stop(self) -> None:
        """Remove its webhooks and end it, as a crash would. Calling it again does nothing."""
        if self._child is None:
            return
        for path in self._webhooks:
            # The API server may be gone already, and with it what the webhooks were for.
            with suppress(ApiServerRefusedError, urllib3.exceptions.HTTPError):
                self._last_api.delete(path)
        self._child.kill()
        ending.forget(self._leave)
        self._child = None

    def _leave(self) -> None:
        """Stop it, and remove its files."""
        self.stop()
        self._folder.cleanup()

    @property
    def _name(self) -> str:
        return self._kind.program.name

    def _start(self) -> None:
        install_crds(self._api, self._programs / CRDS)
        self._copy_certificate()
        self._launch()
        self._wait(self._is_ready, f"{self._name} is ready")
        self._install_webhooks()
        self._wait(self._has_objects, f"{self._name} admits what users refer to")
        self._wait(
            lambda: self._kind.is_asked(self._api), f"the webhooks of {self._name} are asked"
        )

    def _launch(self) -> None:
        flags = self._kind.flags(self._place)
        command = [f"--{name}={value}" for name, value in flags.items()]
        self._child = Child(
            [str(self._programs / self._name), *command],
            self.log,
            environment={"KUBECONFIG": str(self._kubeconfig), **self._kind.environment},
        )
        ending.undo_at_end(self._leave)

    def _copy_certificate(self) -> None:
        certificate = self._authority()
        key = certificate.with_suffix(".key")
        if not key.exists():
            raise WorkloadControllerFailedError(
                f"{self._name} runs only beside a control plane of ours on this machine: there is"
                f" no {key}"
            )
        self._place.certificates.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(certificate, self._place.certificates / "tls.crt")
        write_secret(self._place.certificates / "tls.key", key.read_text())

    def _authority(self) -> Path:
        """What the API server's own certificate is checked by, which begins with it."""
        cluster = yaml.safe_load(self._kubeconfig.read_text())["clusters"][0]["cluster"]
        return Path(cluster.get("certificate-authority", "none"))

    def _install_webhooks(self) -> None:
        if not self._kind.has_webhooks:
            return
        found = configurations(
            self._programs / WEBHOOKS,
            name=f"plimsoll-{self._name}",
            url=f"https://{LOOPBACK}:{self._place.webhook_port}",
            authority=self._authority().read_bytes(),
        )
        self._webhooks = [path_of(configuration) for configuration in found]
        for path, configuration in zip(self._webhooks, found, strict=True):
            self._api.apply(path, configuration)

    def _is_ready(self) -> bool:
        try:
            answer = self._http.request("GET", f"http://{self._place.probes}/readyz")
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == HTTPStatus.OK

    def _has_objects(self) -> bool:
        """Apply what users refer to: refused while the webhooks are not reached."""
        for file in sorted((self._programs / OBJECTS).glob("*.yaml")):
            manifest = yaml.safe_load(file.read_text())
            try:
                self._api.apply(f"{OBJECTS_PATH}/{manifest['metadata']['name']}", manifest)
            except ApiServerRefusedError:
                return False
        return True

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        children = [self._child] if self._child is not None else []
        wait_while_running(
            children,
            condition,
            seconds=START_SECONDS,
            what=what,
            failed=WorkloadControllerFailedError,
        )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()
