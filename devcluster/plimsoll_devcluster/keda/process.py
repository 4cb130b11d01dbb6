"""KEDA's operator and its metrics adapter as children of this process, beside a control plane.

Between the two, and from the API server to the adapter, connections are TLS with certificates that
the operator makes and keeps in a Secret. In a cluster the kubelet mounts that, and the operator is
restarted once for it; here we write it to a folder in between.
"""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.manifest import Manifest, named
from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.credentials import write_secret
from plimsoll_devcluster.processes.lifetime import RunsInside, wait_while_running
from plimsoll_devcluster.processes.ports import free_port
from plimsoll_devcluster.programs.keda_program import KEDA, KEDA_ADAPTER
from plimsoll_devcluster.programs.workload_controllers import CRDS
from plimsoll_devcluster.waiting import wait_until

NAMESPACE = "keda"
SECRET = "kedaorg-certs"  # noqa: S105 - its name
GROUP = "external.metrics.k8s.io"
LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
ADAPTER_SERVICE = "keda-metrics-apiserver"
OPERATOR_HOST = f"keda-operator.{NAMESPACE}.svc.cluster.local"
_SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
_API_SERVICE = f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{GROUP}"
_RIGHTS = "/apis/rbac.authorization.k8s.io/v1"


class KedaFailedError(Exception):
    """One of KEDA's programs has ended; the message ends with its last log lines."""


class Keda(RunsInside):
    """KEDA for a control plane on this machine. Use it as a context manager.

    `operator` and `adapter` are the folders of `find_controller`.
    """

    def __init__(self, operator: Path, adapter: Path, kubeconfig: Path) -> None:
        super().__init__("keda")
        self._programs, self._kubeconfig = (operator, adapter), kubeconfig
        self._api = ApiServer(kubeconfig)
        self._grpc_port, self._metrics_port = free_port(), free_port()
        self._children: list[Child] = []

    def start(self) -> Self:
        """Start it, and wait until its metrics are served. Raises KedaFailedError."""
        ending.undo_at_end(self.stop)
        install_crds(self._api, self._programs[0] / CRDS)
        self._api.apply(f"/api/v1/namespaces/{NAMESPACE}", named("Namespace", NAMESPACE))
        self._register(self._make_certificates()["ca.crt"])
        self._run(KEDA.name, self._operator_flags())
        self._run(KEDA_ADAPTER.name, self._adapter_flags())
        self._wait(self._is_available, "the API of external metrics is available")
        return self

    def stop(self) -> None:
        """End it, as a crash would. Calling it again does nothing."""
        ending.forget(self.stop)
        while self._children:
            self._children.pop().kill()

    def _make_certificates(self) -> Mapping[str, str]:
        """The files that the operator keeps in its Secret, in Base64; it ends once it has."""
        self._run(KEDA.name, {**self._operator_flags(), "enable-cert-rotation": "true"})
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}"

        def made() -> Mapping[str, str]:
            return self._api.get(path).get("data", {}) if self._api.exists(path) else {}

        files = wait_until(made, timeout_seconds=START_SECONDS, what="KEDA has its certificates")
        self._children.pop().kill()
        for name, value in files.items():
            write_secret(self._path / name, base64.b64decode(value).decode())
        return files

    def _register(self, authority: str) -> None:
        """Have the API server ask the adapter, on loopback, and the adapter answer it.

        Without a certificate of its own the API server is anybody to the adapter.
        """
        spec: Manifest = {"type": "ExternalName", "externalName": "localhost"}
        service = {**named("Service", ADAPTER_SERVICE), "spec": spec}
        self._api.apply(f"{_SERVICES}/{ADAPTER_SERVICE}", service)
        registered = named("APIService", f"v1beta1.{GROUP}", "apiregistration.k8s.io/v1")
        where = {"namespace": NAMESPACE, "name": ADAPTER_SERVICE, "port": self._metrics_port}
        spec = {
            "group": GROUP,
            "version": "v1beta1",
            "service": where,
            "caBundle": authority,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        }
        self._api.apply(_API_SERVICE, {**registered, "spec": spec})
        rights = "rbac.authorization.k8s.io"
        rules: list[Manifest] = [
            {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": [f"/apis/{GROUP}", f"/apis/{GROUP}/*"], "verbs": ["get"]},
        ]
        role = {**named("ClusterRole", "keda-metrics", f"{rights}/v1"), "rules": rules}
        self._api.apply(f"{_RIGHTS}/clusterroles/keda-metrics", role)
        everybody = {"apiGroup": rights, "kind": "Group", "name": "system:unauthenticated"}
        binding = {
            **named("ClusterRoleBinding", "keda-metrics", f"{rights}/v1"),
            "roleRef": {"apiGroup": rights, "kind": "ClusterRole", "name": "keda-metrics"},
            "subjects": [everybody],
        }
        self._api.apply(f"{_RIGHTS}/clusterrolebindings/keda-metrics", binding)

    def _operator_flags(self) -> Mapping[str, object]:
        return {
            "metrics-bind-address": f"{LOOPBACK}:{free_port()}",
            "health-probe-bind-address": f"{LOOPBACK}:{free_port()}",
            "metrics-service-bind-address": f"{LOOPBACK}:{self._grpc_port}",
            "cert-dir": self._path,
            "enable-webhook-patching": "false",
            "enable-apiservice-patching": "false",
        }

    def _adapter_flags(self) -> Mapping[str, object]:
        kubeconfigs = ("kubeconfig", "lister-kubeconfig")
        delegated = ("authentication-kubeconfig", "authorization-kubeconfig")
        return {
            **dict.fromkeys((*kubeconfigs, *delegated), self._kubeconfig),
            "secure-port": self._metrics_port,
            "bind-address": LOOPBACK,
            "port": free_port(),
            "cert-dir": self._path,
            "tls-cert-file": self._path / "tls.crt",
            "tls-private-key-file": self._path / "tls.key",
            "authentication-skip-lookup": "true",
            "metrics-service-address": f"{LOOPBACK}:{self._grpc_port}",
            "metrics-service-grpc-authority": OPERATOR_HOST,
        }

    def _run(self, name: str, flags: Mapping[str, object]) -> None:
        (folder,) = (each for each in self._programs if (each / name).is_file())
        child = Child(
            [str(folder / name), *(f"--{key}={value}" for key, value in flags.items())],
            self._path / f"{name}.log",
            environment={
                "KUBECONFIG": str(self._kubeconfig),
                "POD_NAMESPACE": NAMESPACE,
                "KEDA_CLUSTER_OBJECT_NAMESPACE": NAMESPACE,
                "WATCH_NAMESPACE": "",
            },
        )
        self._children.append(child)

    def _is_available(self) -> bool:
        conditions = self._api.get(_API_SERVICE).get("status", {}).get("conditions", ())
        return ("Available", "True") in [(each["type"], each["status"]) for each in conditions]

    def _wait(self, condition: Callable[[], object], what: str) -> None:
        wait_while_running(
            self._children, condition, seconds=START_SECONDS, what=what, failed=KedaFailedError
        )
