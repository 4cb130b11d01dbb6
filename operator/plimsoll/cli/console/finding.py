"""Find the console's pod in the cluster."""

from typing import Final

from plimsoll.errors import NothingFound
from plimsoll.kube.http.client import KubeClient, Selection
from plimsoll.kube.http.port_forward import PodPort
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import KubeObject, Wire

CONSOLES: Final = Selection(labels="app.kubernetes.io/name=plimsoll-console")
_PORT: Final = "console"
_HOW: Final = "install it by console.enabled of the Helm chart, or name its namespace with -n"


class _Get(Wire, frozen=True):
    scheme: str = "HTTP"


class _Probe(Wire, frozen=True):
    http_get: _Get = _Get()


class _Port(Wire, frozen=True):
    container_port: int
    name: str = ""


class _Container(Wire, frozen=True):
    ports: tuple[_Port, ...] = ()
    liveness_probe: _Probe = _Probe()


class _Spec(Wire, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Condition(Wire, frozen=True):
    type: str
    status: str


class _Status(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()


class ConsolePod(KubeObject, frozen=True):
    """A pod of a console."""

    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def serves(self) -> bool:
        """Whether it is ready."""
        return any(
            each.type == "Ready" and each.status == "True" for each in self.status.conditions
        )


class Found(Wire, frozen=True):
    """Where a console is, and whether it serves HTTPS."""

    target: PodPort
    scheme: str


async def console_in(client: KubeClient, namespace: str | None) -> Found:
    """The console of a namespace; None: of any. Raises NothingFound and ApiError."""
    path = PODS.everywhere() if namespace is None else PODS.within(namespace)
    found = [
        Found(PodPort(pod.metadata.namespace, pod.metadata.name, port.container_port), scheme)
        async for page in client.pages(path, ConsolePod, selection=CONSOLES)
        for pod in page.items
        if pod.serves
        for container in pod.spec.containers
        for port in container.ports
        if port.name == _PORT
        for scheme in (container.liveness_probe.http_get.scheme.lower(),)
    ]
    if not found:
        where = "in the cluster" if namespace is None else f"in namespace {namespace}"
        raise NothingFound([f"there is no console {where} that is ready: {_HOW}"])
    return found[0]
