"""The part of cluster-autoscaler in a test, for it cannot be run without a cloud.

Like the real one, it accepts a request, looks how many of its pods fit on nodes that are there and
not reserved, and makes as many nodes of one group as the others need, or none. What it has found or
made is reserved for the request until that is gone or its booking expires. It takes new nodes of a
group to be like one that is there, with that one's taints other than those that it is told to
ignore.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import DEFINITIONS, install_crds
from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import NAMESPACE
from plimsoll_devcluster.waiting import wait_until
from support.objects.bought_nodes import LABEL

CRDS: Final = Path(__file__).parents[1] / "objects" / "provisioning_request_crds"
KIND: Final = "/apis/autoscaling.x-k8s.io/v1"
REQUESTS: Final = f"{KIND}/namespaces/{NAMESPACE}/provisioningrequests"
GPU: Final = "nvidia.com/gpu"
SCAN_SECONDS: Final = 0.2
GONE_SECONDS: Final = 60
_OVER: Final = {"Succeeded", "Failed"}
_IGNORED: Final = ("status-taint.cluster-autoscaler.kubernetes.io/", "node.kubernetes.io/")


@dataclass(slots=True)
class NodeGroup:
    """Nodes alike, by their label; `room` is how many more can be had.

    While it is `slow`, nodes that were promised do not come.
    """

    name: str
    room: int = 100
    slow: bool = False
    taints: tuple[Manifest, ...] = ()
    made: int = 0
    promised: int = 0

    def node(self) -> Manifest:
        """One more node of it."""
        self.made += 1
        labels = {LABEL: self.name}
        return fake_node(f"{self.name}-node-{self.made}", labels=labels, taints=self.taints)


@dataclass(slots=True)
class ClusterAutoscaler:
    """Looks at all requests of a namespace at each `scan`, unless it is `deaf`.

    If it `removes` idle nodes, it does so at once.
    """

    api: ApiServer
    groups: dict[str, NodeGroup] = field(default_factory=dict[str, NodeGroup])
    deaf: bool = False
    removes: bool = False
    namespace: str = NAMESPACE

    @property
    def paths(self) -> tuple[str, str]:
        """Where requests are, and PodTemplates."""
        requests = f"{KIND}/namespaces/{self.namespace}/provisioningrequests"
        return requests, f"/api/v1/namespaces/{self.namespace}/podtemplates"

    def group(self, name: str) -> NodeGroup:
        """The group whose nodes have this label."""
        return self.groups.setdefault(name, NodeGroup(name))

    def scan(self) -> None:
        """Look at all requests once."""
        for group in [*self.groups.values()]:
            self._boot(group)
        for request in () if self.deaf else self.requests():
            if not {"Provisioned", "Failed"} & _holding(request):
                self._serve(request)
        for node in self._free_nodes() if self.removes else ():
            self.api.delete(f"{NODES}/{node['metadata']['name']}")

    def requests(self) -> list[Manifest]:
        """All requests, the oldest first."""
        found = self.api.items(self.paths[0])
        return sorted(found, key=lambda each: each["metadata"]["creationTimestamp"])

    def names(self) -> list[str]:
        """The names of all requests."""
        return sorted(each["metadata"]["name"] for each in self.requests())

    def templates(self) -> list[str]:
        """The names of all PodTemplates."""
        return sorted(each["metadata"]["name"] for each in self.api.items(self.paths[1]))

    def say(self, name: str, kind: str, *, status: str = "True", reason: str = "") -> None:
        """Set a condition of a request, if it is still there."""
        condition = {
            "type": kind,
            "status": status,
            "reason": reason or kind,
            "message": f"{kind} is {status}",
            "lastTransitionTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        }
        while self._is_behind(name, condition):
            pass

    def _is_behind(self, name: str, condition: Manifest) -> bool:
        """Set a condition of a request; whether it has changed meanwhile, so that it was not."""
        path = f"{self.paths[0]}/{name}"
        try:
            there = self.api.get(path)
            before = there.get("status", {}).get("conditions", [])
            conditions = [
                *(each for each in before if each["type"] != condition["type"]),
                condition,
            ]
            version = {"resourceVersion": there["metadata"]["resourceVersion"]}
            patch = {"metadata": version, "status": {"conditions": conditions}}
            self.api.merge(f"{path}/status", patch)
        except ApiServerRefusedError as error:
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise
            return error.status == HTTPStatus.CONFLICT
        return False

    def _serve(self, request: Manifest) -> None:
        name = request["metadata"]["name"]
        pods = self._pods(request)
        if pods is None:
            self.say(name, "Failed", reason="FailedToCreatePods")
            return
        self.say(name, "Accepted")
        template, count = pods
        group = self.group(template["nodeSelector"][LABEL])
        lacking = count - self._fitting(template, count)
        if lacking > group.room or not _tolerates(template, self._taints(group)):
            self.say(name, "Provisioned", status="False", reason="CapacityIsNotFound")
            return
        group.room -= lacking
        group.promised += lacking
        self.say(name, "Provisioned", reason="CapacityIsFound")
        self._boot(group)

    def _taints(self, group: NodeGroup) -> tuple[Manifest, ...]:
        """What it takes the taints of new nodes to be."""
        there: list[Manifest] = self.api.items(f"{NODES}?labelSelector={LABEL}={group.name}")
        if not there:
            return group.taints
        taints: list[Manifest] = there[0]["spec"].get("taints", [])
        return tuple(each for each in taints if not each["key"].startswith(_IGNORED))

    def _boot(self, group: NodeGroup) -> None:
        while group.promised and not group.slow:
            group.promised -= 1
            self.api.create(NODES, group.node())

    def _pods(self, request: Manifest) -> tuple[Manifest, int] | None:
        """The pods of a request and how many; None if its template is not there."""
        (pods,) = request["spec"]["podSets"]
        found = {each["metadata"]["name"]: each for each in self.api.items(self.paths[1])}
        template = found.get(pods["podTemplateRef"]["name"])
        return None if template is None else (template["template"]["spec"], pods["count"])

    def _fitting(self, template: Manifest, count: int) -> int:
        """How many of so many pods fit on free nodes that are not reserved for others."""
        free = self._free_nodes()
        for request in self.requests():
            holding, pods = _holding(request), self._pods(request)
            if pods and "Provisioned" in holding and "BookingExpired" not in holding:
                _placed(*pods, free)
        return _placed(template, count, free)

    def _free_nodes(self) -> list[Manifest]:
        """The nodes of whose GPUs nobody has any."""
        used = {
            pod["spec"].get("nodeName")
            for pod in self.api.items("/api/v1/pods")
            if pod["status"].get("phase") not in _OVER
            for container in pod["spec"]["containers"]
            if GPU in container.get("resources", {}).get("limits", {})
        }
        return [each for each in self.api.items(NODES) if each["metadata"]["name"] not in used]


@contextmanager
def its_kind(api: ApiServer) -> Generator[None]:
    """The kind of its requests is served for a while."""
    (name,) = install_crds(api, CRDS)
    yield
    api.delete(f"{DEFINITIONS}/{name}")
    wait_until(
        lambda: not api.exists(KIND), timeout_seconds=GONE_SECONDS, what="it is not served any more"
    )


@contextmanager
def cluster_autoscaler(api: ApiServer) -> Generator[ClusterAutoscaler]:
    """One that scans all the time, and leaves no request behind."""
    found, ended = ClusterAutoscaler(api), threading.Event()
    failures: list[Exception] = []

    def run() -> None:
        try:
            while not ended.wait(SCAN_SECONDS):
                found.scan()
        except Exception as error:  # noqa: BLE001 - raised in the test's thread
            failures.append(error)

    thread = threading.Thread(target=run, name="cluster-autoscaler")
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
        leave_nothing(found)
    if failures:
        raise failures[0]


def leave_nothing(found: ClusterAutoscaler) -> None:
    """Delete the pools, and wait until their requests are gone with them."""
    found.api.delete_all("/apis/plimsoll.dev/v1alpha1/gpupools")

    def are_gone() -> bool:
        for path in found.paths:
            found.api.delete_all(path)
        return not found.names() and not found.templates()

    wait_until(are_gone, timeout_seconds=GONE_SECONDS, what="nothing is requested any more")


def _holding(request: Manifest) -> set[str]:
    """The conditions of a request that hold."""
    conditions: list[Manifest] = request.get("status", {}).get("conditions", [])
    return {each["type"] for each in conditions if each["status"] == "True"}


def _placed(template: Manifest, count: int, free: list[Manifest]) -> int:
    """How many of so many pods fit on nodes, which are then not free any more."""
    fitting = [node for node in free if _fits(template, node)][:count]
    for node in fitting:
        free.remove(node)
    return len(fitting)


def _fits(template: Manifest, node: Manifest) -> bool:
    labels: dict[str, str] = node["metadata"]["labels"]
    if not template["nodeSelector"].items() <= labels.items():
        return False
    (container,) = template["containers"]
    wanted, there = container["resources"]["limits"][GPU], node["status"]["allocatable"].get(GPU, 0)
    taints = tuple(node["spec"].get("taints", ()))
    return int(wanted) <= int(there) and _tolerates(template, taints) and _wants(template, labels)


def _wants(template: Manifest, labels: dict[str, str]) -> bool:
    """Whether the required affinity of pods, which only excludes nodes, lets them on a node."""
    affinity = template.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    (term,) = required["nodeSelectorTerms"]
    (excluded,) = term["matchExpressions"]
    assert excluded["operator"] == "NotIn"
    return labels.get(excluded["key"]) not in excluded["values"]


def _tolerates(template: Manifest, taints: tuple[Manifest, ...]) -> bool:
    tolerated = {(each["key"], each["effect"]) for each in template.get("tolerations", ())}
    return {(taint["key"], taint["effect"]) for taint in taints} <= tolerated
