"""The agent of a node as a process of its own, with the rights that the chart gives it."""

import base64
import json
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import urllib3
import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.credentials import write_secret
from plimsoll_devcluster.processes.probes import Probes
from plimsoll_devcluster.waiting import wait_until
from support.project.pages import ROOT
from support.project.rights import rules_in

CHART = ROOT / "charts" / "plimsoll" / "files"
CLUSTER_RULES = rules_in(CHART / "agent-cluster-role-rules.yaml")
OWN_RULES = rules_in(CHART / "agent-role-rules.yaml")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
LEASE = "plimsoll"
START_SECONDS = 30
REPORT_SECONDS = 30
STOP_SECONDS = 10
WANTED = "plimsoll.dev/power-cap-watts"
LIMITS = "plimsoll.dev/power-limit-watts"
PROBLEM = "plimsoll.dev/power-limit-problem"
TIMEOUT_SECONDS = 6
"""For how long the Lease may stand still in tests: thrice as long as between two renewals."""


@dataclass(frozen=True, slots=True)
class AgentAccount:
    """A ServiceAccount of agents in a namespace, as the chart makes it."""

    cluster: Cluster
    namespace: str
    name: str

    @property
    def server(self) -> str:
        """Where the API server is."""
        return self.cluster.api.url

    def token_on(self, node: str) -> str:
        """The token of a pod on that node."""
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        spec = {
            "serviceAccountName": self.name,
            "nodeName": node,
            "containers": [{"name": "agent", "image": "none"}],
        }
        manifest = {"metadata": {"generateName": f"{self.name}-"}, "spec": spec}
        pod = self.cluster.api.create(pods, manifest)["metadata"]
        bound = {"kind": "Pod", "apiVersion": "v1", "name": pod["name"], "uid": pod["uid"]}
        return self._token({"boundObjectRef": bound})

    def token_of_no_pod(self) -> str:
        """A token that says nothing of a node."""
        return self._token({})

    def _token(self, spec: Mapping[str, object]) -> str:
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.name}/token"
        return self.cluster.api.create(path, {"spec": spec})["status"]["token"]

    def ca_file(self, folder: Path) -> Path:
        """A file with the certificates that the API server's is checked by."""
        cluster = yaml.safe_load(self.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
        if file := cluster.get("certificate-authority"):
            return Path(file)
        path = folder / "ca.crt"
        path.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        return path


@contextmanager
def agent_account(cluster: Cluster, namespace: str) -> Generator[AgentAccount]:
    """Make the ServiceAccount, its rights, and what limits them."""
    api, name = cluster.api, f"agent-{namespace}"
    metadata = {"metadata": {"name": name}}
    own = f"{RBAC}/namespaces/{namespace}"
    api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", metadata)
    for place, kind, rules in ((RBAC, "ClusterRole", CLUSTER_RULES), (own, "Role", OWN_RULES)):
        api.create(f"{place}/{kind.lower()}s", {**metadata, "rules": rules})
        api.create(
            f"{place}/{kind.lower()}bindings", {**metadata, **_binding(kind, name, namespace)}
        )
    api.create(
        f"{ADMISSION}/validatingadmissionpolicies", {**metadata, "spec": policy(name, namespace)}
    )
    bound = {"policyName": name, "validationActions": ["Deny"]}
    api.create(f"{ADMISSION}/validatingadmissionpolicybindings", {**metadata, "spec": bound})
    yield AgentAccount(cluster, namespace, name)
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        api.delete(f"{ADMISSION}/{kind}/{name}")
    for kind in ("clusterrolebindings", "clusterroles"):
        api.delete(f"{RBAC}/{kind}/{name}")


def _binding(kind: str, name: str, namespace: str) -> dict[str, object]:
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    return {"roleRef": role, "subjects": [subject]}


def policy(account: str, namespace: str) -> dict[str, Any]:
    """The policy that the chart makes for that ServiceAccount, without Helm."""
    template = (ROOT / "charts" / "plimsoll" / "templates" / "agent-rights.yaml").read_text()
    _, _, rest = template.partition("kind: ValidatingAdmissionPolicy\n")
    _, _, rest = rest.partition("\nspec:\n")
    spec, _, _ = rest.partition("\n---\n")
    fixed = "\n".join(line for line in spec.splitlines() if "{{" not in line)
    user = f"request.userInfo.username == 'system:serviceaccount:{namespace}:{account}'"
    found = yaml.safe_load(fixed)
    found["matchConditions"][0]["expression"] = user
    return {**found, **yaml.safe_load((CHART / "agent-validations.yaml").read_text())}


class AgentProcess:
    """One agent. Start it, kill it, start it again: nothing of it stays."""

    def __init__(
        self,
        account: AgentAccount,
        node: str,
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._api = account.cluster.api
        self._node = f"{NODES}/{node}"
        self._folder = folder
        self._environment = {
            "PLIMSOLL_AGENT_NODE_NAME": node,
            "PLIMSOLL_AGENT_OPERATOR_NAMESPACE": account.namespace,
            "PLIMSOLL_AGENT_OPERATOR_LEASE": LEASE,
            "PLIMSOLL_AGENT_OPERATOR_TIMEOUT_SECONDS": f"{TIMEOUT_SECONDS}",
            "PLIMSOLL_AGENT_RESYNC_SECONDS": "1",
            "PLIMSOLL_AGENT_HOST": "127.0.0.1",
            "PLIMSOLL_AGENT_PORT": "0",
            "PLIMSOLL_AGENT_API_SERVER": account.server,
            "PLIMSOLL_AGENT_TOKEN_FILE": str(
                write_secret(folder / "token", account.token_on(node))
            ),
            "PLIMSOLL_AGENT_CA_FILE": str(account.ca_file(folder)),
            **environment,
        }
        self._child: Child | None = None
        self._starts = 0
        asked = Probes(lambda: self.address)
        self.probe, self.metric = asked.probe, asked.metric

    @property
    def log(self) -> Path:
        """What the present or last process has logged."""
        return self._folder / f"agent-{self._starts}.log"

    def start(self) -> Self:
        """Start a process, and wait until it is ready."""
        self._starts += 1
        run = [sys.executable, "-m", "plimsoll_agent.main"]
        self._child = Child(run, self.log, environment=self._environment)
        wait_until(self._is_ready, timeout_seconds=START_SECONDS, what="the agent is ready")
        return self

    @property
    def address(self) -> str:
        """Where it is to be scraped."""
        return f"127.0.0.1:{self._port()}"

    def stop(self) -> int:
        """End it in good order; its exit status."""
        assert self._child is not None
        return self._child.end(STOP_SECONDS)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._child is not None:
            self._child.kill()

    def said(self, event: str) -> list[dict[str, Any]]:
        """What it has logged under that name."""
        lines = self.log.read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["event"] == event]

    def want(self, watts: int | str | None) -> None:
        """Write the annotation that the operator writes."""
        value = None if watts is None else str(watts)
        self._api.merge(self._node, {"metadata": {"annotations": {WANTED: value}}})

    def reported(self) -> tuple[str | None, str | None]:
        """What the Node says of limits, and of what went wrong."""
        annotations = self._api.get(self._node)["metadata"]["annotations"]
        return annotations.get(LIMITS), annotations.get(PROBLEM)

    def until_reported(self, limits: str | None, problem: str | None = None) -> None:
        """Wait until the Node says just that."""
        self.until(
            lambda: self.reported() == (limits, problem), f"{limits}, {problem}", self.reported
        )

    def until(
        self, condition: Callable[[], object], what: str, seen: Callable[[], object] = str
    ) -> None:
        """Wait for something, and show the log where it does not come about."""
        try:
            wait_until(condition, timeout_seconds=REPORT_SECONDS, what=what)
        except TimeoutError as error:
            error.add_note(f"{seen()}\n{self.log.read_text()[-3000:]}")
            raise

    def _is_ready(self) -> bool:
        assert self._child is not None
        if not self._child.is_running():
            raise RuntimeError(f"the agent has ended:\n{self._child.log_tail()}")
        try:
            return self.probe("/readyz")[0] == HTTPStatus.OK
        except (LookupError, urllib3.exceptions.HTTPError):
            return False

    def _port(self) -> int:
        for line in self.said("started"):
            return int(line["port"])
        raise LookupError("the agent has not said its port yet")


class Operator:
    """The sign of life of an operator: a Lease that is renewed, or not."""

    def __init__(self, api: ApiServer, namespace: str) -> None:
        self._api = api
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        api.create(self._collection, {"metadata": {"name": LEASE}, "spec": {}})

    def live(self) -> None:
        """Renew the Lease from now on."""
        self._ends.clear()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def fall_silent(self) -> None:
        """Renew it no more."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def _renew(self) -> None:
        while not self._ends.wait(0.3):
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self._api.merge(f"{self._collection}/{LEASE}", {"spec": {"renewTime": now}})
