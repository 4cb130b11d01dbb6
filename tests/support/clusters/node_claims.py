"""What a test asks Karpenter for, and what becomes of it."""

from typing import Any

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS, NODE_CLASSES
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.objects.karpenter import a_node_class

SECONDS = 60
SHORT = "InsufficientCapacityError"


class NodeClaims:
    """The claims of a cluster, and the pods of a namespace that run on their nodes."""

    def __init__(self, api: ApiServer, namespace: str) -> None:
        self.api = api
        self._pods = f"/api/v1/namespaces/{namespace}/pods"

    def set_boot_time(self, seconds: int) -> None:
        """Say how long after their launch nodes come up, from now on."""
        manifest = a_node_class(boot_seconds=seconds)
        self.api.apply(f"{NODE_CLASSES}/{manifest['metadata']['name']}", manifest)

    def ask(self, *claims: Manifest) -> list[Manifest]:
        """Create claims; each as it is then."""
        return [self.api.create(NODE_CLAIMS, claim) for claim in claims]

    def delete(self, claim: Manifest) -> None:
        """Have Karpenter remove a claim and its node."""
        self.api.delete(path_of(claim))

    def now(self, claim: Manifest) -> Manifest:
        """A claim as it is now, empty if it is gone."""
        uid = claim["metadata"]["uid"]
        found = self.api.items(NODE_CLAIMS)
        same: list[Manifest] = [each for each in found if each["metadata"]["uid"] == uid]
        return same[0] if same else {}

    def until(self, claim: Manifest, condition: str, status: str = "True") -> Manifest:
        """Wait until a condition of a claim has a status; the claim."""

        def has_it() -> Manifest:
            found = self.now(claim)
            return found if condition_of(found, condition).get("status") == status else {}

        name = claim["metadata"]["name"]
        what = f"the condition {condition} of {name} is {status}"
        try:
            return wait_until(has_it, timeout_seconds=SECONDS, what=what)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it says {self.now(claim).get('status')}") from error

    def node(self, claim: Manifest) -> Manifest:
        """Wait until a claim's node is all that was asked for; the node."""
        name = self.until(claim, "Initialized")["status"]["nodeName"]
        return self.api.get(f"{NODES}/{name}")

    def until_short(self, claim: Manifest) -> None:
        """Wait until a claim is gone, and it was said that there was no capacity for it."""
        self.until_gone(path_of(claim))
        wait_until(
            lambda: SHORT in self.reasons(claim),
            timeout_seconds=SECONDS,
            what=f"{SHORT} is said of {claim['metadata']['name']}",
        )

    def reasons(self, of: Manifest) -> set[str]:
        """The reasons of the events about a claim or a node."""
        fields = f"involvedObject.uid={of['metadata']['uid']}"
        events = self.api.items(f"/api/v1/namespaces/default/events?fieldSelector={fields}")
        return {event["reason"] for event in events}

    def until_gone(self, path: str) -> None:
        """Wait until there is no object at a path."""
        wait_until(
            lambda: not self.api.exists(path), timeout_seconds=SECONDS, what=f"{path} is gone"
        )

    def run(self, *, on: Manifest, **metadata: Any) -> str:  # noqa: ANN401 - fields of metadata
        """Create a pod for a GPU of a node with these labels; its path."""
        limits = {"limits": {"nvidia.com/gpu": "1"}}
        container = {"name": "main", "image": "none", "resources": limits}
        spec = {"containers": [container], "nodeSelector": on}
        pod = {"metadata": {"generateName": "pod-", **metadata}, "spec": spec}
        return f"{self._pods}/{self.api.create(self._pods, pod)['metadata']['name']}"

    def until_runs(self, pod: str) -> Manifest:
        """Wait until the pod at a path runs; the pod."""

        def running() -> Manifest:
            found = self.api.get(pod)
            return found if found["status"]["phase"] == "Running" else {}

        return wait_until(running, timeout_seconds=SECONDS, what=f"{pod} runs")


def path_of(claim: Manifest) -> str:
    """Where a claim is."""
    return f"{NODE_CLAIMS}/{claim['metadata']['name']}"


def condition_of(claim: Manifest, condition: str) -> Manifest:
    """A condition of a claim, empty if it says nothing of that."""
    conditions: list[Manifest] = claim.get("status", {}).get("conditions", [])
    found = {each["type"]: each for each in conditions}
    return found.get(condition, {})
