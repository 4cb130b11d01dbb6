"""A cluster as a test's user sees it: what is applied to it, and what becomes of that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import NODES, add_nodes
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.waiting import wait_until

GROUP = "/apis/plimsoll.dev/v1alpha1"
SECONDS = 60
_WITHIN = {"TrainingJob": "trainingjobs", "InferenceJob": "inferencejobs"}
_EVERYWHERE = {
    "JobQueue": f"{GROUP}/jobqueues",
    "GPUPool": f"{GROUP}/gpupools",
    "PowerDomain": f"{GROUP}/powerdomains",
    "PlacementPolicy": f"{GROUP}/placementpolicies",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
}


@dataclass(frozen=True, slots=True)
class Running:
    """A job that runs: its status, and its pods by role, replica and rank."""

    status: Manifest
    pods: tuple[Manifest, ...]

    @property
    def nodes(self) -> list[str]:
        """The node of each pod."""
        return [pod["spec"]["nodeName"] for pod in self.pods]

    @property
    def uids(self) -> set[str]:
        """Who the pods are; a pod that was made anew is another."""
        return {pod["metadata"]["uid"] for pod in self.pods}

    @property
    def gpu_types(self) -> set[str]:
        """The GPU types of its places."""
        return {place["acceleratorType"] for place in self.status["placement"]["assignments"]}


class Scene:
    """A namespace and the cluster around it; `operator` where the tests run it themselves."""

    def __init__(
        self,
        api: ApiServer,
        namespace: str,
        operator: OperatorProcess | None = None,
        *,
        patience_seconds: float = SECONDS,
    ) -> None:
        self.api = api
        self.namespace = namespace
        self.patience_seconds = patience_seconds
        self._operator = operator

    @property
    def operator(self) -> OperatorProcess:
        """The process that acts; RuntimeError where the tests do not run it."""
        if self._operator is None:
            raise RuntimeError("these tests do not run the operator themselves")
        return self._operator

    def add_nodes(self, *nodes: Manifest) -> None:
        """Add nodes, and wait until they are ready."""
        add_nodes(self.api, nodes)

    def apply(self, *manifests: Manifest) -> None:
        """Apply objects in this order, jobs and pods in the namespace."""
        for manifest in manifests:
            self.api.apply(self.path(manifest["kind"], manifest["metadata"]["name"]), manifest)

    def path(self, kind: str, name: str) -> str:
        """Where an object is."""
        if kind in _EVERYWHERE:
            return f"{_EVERYWHERE[kind]}/{name}"
        if kind == "Pod":
            return f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        if kind == "PodDisruptionBudget":
            budgets = "poddisruptionbudgets"
            return f"/apis/policy/v1/namespaces/{self.namespace}/{budgets}/{name}"
        return f"{GROUP}/namespaces/{self.namespace}/{_WITHIN[kind]}/{name}"

    def edit(self, job: Manifest, spec: Manifest) -> None:
        """Change some fields of an object's spec."""
        self.api.merge(self.path(job["kind"], job["metadata"]["name"]), {"spec": spec})

    def delete(self, *manifests: Manifest) -> None:
        """Delete objects."""
        for manifest in manifests:
            self.api.delete(self.path(manifest["kind"], manifest["metadata"]["name"]))

    def node(self, name: str, patch: Manifest) -> None:
        """Change a node."""
        self.api.merge(f"{NODES}/{name}", patch)

    def status(self, manifest: Manifest) -> Manifest:
        """What an object says of itself now."""
        found = self.api.get(self.path(manifest["kind"], manifest["metadata"]["name"]))
        return cast("Manifest", found.get("status", {}))

    def pods_of(self, job: Manifest) -> list[Manifest]:
        """The job's pods as they are now, by role, replica and rank."""
        name, kind = job["metadata"]["name"], job["kind"]
        selector = f"plimsoll.dev/job-name={name},plimsoll.dev/job-kind={kind}"
        path = f"/api/v1/namespaces/{self.namespace}/pods?labelSelector={selector}"
        return sorted(self.api.items(path), key=_pod_order)

    def events(self, about: Manifest, reason: str) -> list[Manifest]:
        """Wait until something was said of an object for this reason; the Events that say it."""
        return wait_until(
            lambda: [event for event in self.all_events(about) if event["reason"] == reason],
            timeout_seconds=self.patience_seconds,
            what=f"{about['metadata']['name']}: {reason} is said",
        )

    def all_events(self, about: Manifest) -> list[Manifest]:
        """What has been said of an object so far."""
        kind, name = about["kind"], about["metadata"]["name"]
        fields = f"regarding.kind={kind},regarding.name={name}"
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events?fieldSelector={fields}"
        return self.api.items(path)

    def until(self, job: Manifest, **fields: Any) -> Manifest:  # noqa: ANN401 - values of a status
        """Wait until a status has these fields; the status."""

        def has_them() -> Manifest | None:
            status = self.status(job)
            same = all(status.get(field) == value for field, value in fields.items())
            return status if same and status else None

        what = f"{job['metadata']['name']} says {fields}"
        try:
            return wait_until(has_them, timeout_seconds=self.patience_seconds, what=what) or {}
        except TimeoutError as error:
            raise TimeoutError(f"{what}; it says {self.status(job)}") from error

    def running(self, job: Manifest) -> Running:
        """Wait until a job runs where its placement says, every pod bound just there."""
        try:
            found = wait_until(
                partial(self._as_placed, job),
                timeout_seconds=self.patience_seconds,
                what=f"{job['metadata']['name']} runs where its placement says",
            )
        except TimeoutError as error:
            said = f"{error}; it says {self.status(job)}; there are {self._pods_there()}"
            raise TimeoutError(said) from error
        assert found is not None
        return found

    def _pods_there(self) -> list[str]:
        """All pods of the namespace, in a few words each."""
        return [
            f"{pod['metadata']['name']} on {pod['spec'].get('nodeName')} {pod['status']['phase']}"
            f" {conditions(pod['status'])} going since {pod['metadata'].get('deletionTimestamp')}"
            for pod in self.api.items(f"/api/v1/namespaces/{self.namespace}/pods")
        ]

    def _as_placed(self, job: Manifest) -> Running | None:
        status, pods = self.status(job), self.pods_of(job)
        generation = self.api.get(self.path(job["kind"], job["metadata"]["name"]))["metadata"]
        current = status.get("observedGeneration") == generation["generation"]
        if not current or conditions(status).get("Running") != "True":
            return None
        wanted = [node for place in _places(status) for node in place["nodes"]]
        bound = [pod["spec"].get("nodeName") for pod in pods]
        return Running(status, tuple(pods)) if bound == wanted else None


def conditions(status: Mapping[str, Any]) -> dict[str, str]:
    """The status of each condition, by type."""
    return {each["type"]: each["status"] for each in status.get("conditions", [])}


def gpu_limits(pods: Iterable[Manifest]) -> list[dict[str, str]]:
    """The devices that each pod's first container is given."""
    limits = (pod["spec"]["containers"][0]["resources"].get("limits", {}) for pod in pods)
    return [{name: n for name, n in each.items() if "/" in name} for each in limits]


def _places(status: Mapping[str, Any]) -> list[Manifest]:
    placement: Manifest = status.get("placement") or {}
    places: list[Manifest] = placement.get("assignments", [])
    return sorted(places, key=lambda place: (place["role"], place["replica"]))


def _pod_order(pod: Manifest) -> tuple[str, int, int]:
    labels = pod["metadata"]["labels"]
    replica, rank = labels["plimsoll.dev/replica"], labels["plimsoll.dev/rank"]
    return labels["plimsoll.dev/role"], int(replica), int(rank)
