"""A service's users in a namespace: a client, the gateway it calls, and the service's Service."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from harness.real_cluster import PATIENCE_SECONDS
from harness.stand_ins import SMALL
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from traffic.gateway import PORT, STATISTICS_PORT, gateway_pod

BACKEND, GATEWAY, CLIENT = "served", "gateway", "client"
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Figures:
    """What has become of the requests, at each rate in turn."""

    parts: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    reasons: list[str] = field(default_factory=list[str])

    def total(self, name: str) -> int:
        """How many were `sent`, `answered` or `failed`."""
        return int(sum(part[name] for part in self.parts))


class Users:
    """A client and a gateway, which run from when this is made."""

    def __init__(self, scene: Scene, selector: Manifest, *, image: str, shared: Path) -> None:
        api = scene.api
        self._api, self._core = api, f"/api/v1/namespaces/{scene.namespace}"
        services = f"{self._core}/services"
        backend = api.create(services, _service(BACKEND, selector, PORT))
        api.create(services, _service(GATEWAY, {"app": GATEWAY}, PORT, STATISTICS_PORT))
        gateway = gateway_pod(GATEWAY, backend, image=image, shared=shared)
        api.create(f"{self._core}/pods", gateway)
        api.create(f"{self._core}/pods", _client(image, f"http://{GATEWAY}:{PORT}"))
        for name in (GATEWAY, CLIENT):
            until_ready(api, f"{self._core}/pods/{name}")

    def send_at(self, rate: float) -> Figures:
        """Have so many requests a second sent from now on."""
        return self._said(f"/rate/{rate:g}")

    def figures(self) -> Figures:
        """What has become of all requests."""
        return self._said("/")

    def until_answered(self, more: int) -> Figures:
        """Wait until so many of those that are sent at the present rate are answered."""
        wait_until(
            lambda: self.figures().parts[-1]["answered"] >= more,
            timeout_seconds=PATIENCE_SECONDS,
            what=f"{more} requests are answered",
        )
        return self.figures()

    def until_done(self) -> Figures:
        """Wait until each request was answered or has failed."""

        def is_done() -> bool:
            said = self.figures()
            return said.total("sent") == said.total("answered") + said.total("failed")

        wait_until(is_done, timeout_seconds=PATIENCE_SECONDS, what="no request is open")
        return self.figures()

    def _said(self, path: str) -> Figures:
        return Figures(
            **json.loads(self._api.text(f"{self._core}/pods/{CLIENT}:{PORT}/proxy{path}"))
        )


def until_ready(api: ApiServer, path: str) -> None:
    """Wait until a pod is ready."""

    def is_ready() -> bool:
        conditions = api.get(path)["status"].get("conditions", ())
        return ("Ready", "True") in [(each["type"], each["status"]) for each in conditions]

    wait_until(is_ready, timeout_seconds=PATIENCE_SECONDS, what=f"{path} is ready")


def _client(image: str, url: str) -> Manifest:
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", (_FOLDER / "client.py").read_text()],
        "env": [{"name": "URL", "value": url}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "resources": {"requests": dict(SMALL)},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {"metadata": {"name": CLIENT, "labels": {"app": CLIENT}}, "spec": spec}


def _service(name: str, selector: Manifest, *ports: int) -> Manifest:
    served = [{"name": f"port-{port}", "port": port} for port in ports]
    return {"metadata": {"name": name}, "spec": {"selector": selector, "ports": served}}
