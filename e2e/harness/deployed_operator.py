"""The operator as the chart runs it: its replicas, who of them acts, what they log and measure."""

import json
from http import HTTPStatus
from typing import cast

from harness.release import NAME, NAMESPACE
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.probes import metric_in
from plimsoll_devcluster.waiting import wait_until

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}"
LEAD_SECONDS = 60
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"


class DeployedOperator:
    """The replicas of the Deployment."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def pods(self) -> list[Manifest]:
        """The replicas that nobody deletes."""
        found = self._api.items(f"{PODS}?labelSelector=app.kubernetes.io/name={NAME}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def ready(self) -> int:
        """How many replicas are ready, as the Deployment says."""
        return int(self._api.get(DEPLOYMENT)["status"].get("readyReplicas", 0))

    def leader(self) -> Manifest:
        """Wait until a replica that is there holds the Lease; which one that is."""
        leader = wait_until(self._leader, timeout_seconds=LEAD_SECONDS, what="a replica leads")
        assert leader is not None
        return leader

    def log(self, pod: Manifest, *, previous: bool = False) -> str:
        """What a replica has logged, or its container before this one; "" where there was none."""
        query = "?container=operator" + ("&previous=true" if previous else "")
        try:
            return self._api.text(f"{PODS}/{pod['metadata']['name']}/log{query}")
        except ApiServerRefusedError as error:
            if error.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND):
                raise
            return ""

    def log_lines(self) -> list[dict[str, object]]:
        """All lines that the present replicas have logged."""
        logs = (self.log(pod, previous=old) for pod in self.pods() for old in (True, False))
        return [
            cast("dict[str, object]", json.loads(ln)) for log in logs for ln in log.splitlines()
        ]

    def answer(self, pod: Manifest, path: str) -> str:
        """What a replica answers at /healthz, /readyz or /metrics."""
        return self._api.text(f"{PODS}/{pod['metadata']['name']}:8080/proxy{path}")

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels, over all replicas."""
        answers = (self.answer(pod, "/metrics") for pod in self.pods())
        return sum(metric_in(answer, name, **labels) for answer in answers)

    def _leader(self) -> Manifest | None:
        holder = str(self._api.get(LEASE)["spec"].get("holderIdentity") or "")
        name, _, _ = holder.rpartition("-")
        return next((pod for pod in self.pods() if pod["metadata"]["name"] == name), None)
