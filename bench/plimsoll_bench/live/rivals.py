"""One service three times: an InferenceJob, a Deployment with an HPA, one with KEDA.

All have the same pods and limits, are set to run pods at the same load, by the same query, and keep
what they have for the same time after the load has fallen. What can sleep without load may.
"""

from dataclasses import dataclass
from typing import Final

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.gpu_models import L4
from plimsoll_devcluster.manifest import Manifest

PLIMSOLL: Final = "plimsoll"
HPA: Final = "hpa"
KEDA: Final = "keda"
METRIC: Final = "requests"
"""The metric of the HPA's Service."""
WINDOW: Final = "10s"
MOST_REPLICAS: Final = 16
START_SECONDS: Final = 6
DOWN_WINDOW_SECONDS: Final = 30
_ANNOTATIONS = {"plimsoll.dev/test-start-seconds": str(START_SECONDS)}
_CONTAINER = {"name": "main", "image": "serve", "resources": {"requests": {"cpu": "1"}}}
_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment"}
_BEHAVIOR = {"scaleDown": {"stabilizationWindowSeconds": DOWN_WINDOW_SECONDS}}


@dataclass(frozen=True, slots=True)
class Rivals:
    """Where they are made, by which Prometheus KEDA goes, and the load at which pods shall run."""

    api: ApiServer
    namespace: str
    prometheus: str
    load: float

    def apply(self, name: str) -> None:
        """Make one of them."""
        {PLIMSOLL: self._inference_job, HPA: self._hpa, KEDA: self._scaled_object}[name]()

    def _inference_job(self) -> None:
        role = {
            "name": "server",
            "replicas": {"min": 0, "max": MOST_REPLICAS},
            "gpusPerReplica": 1,
            "drain": "5s",
            "template": {
                "metadata": {"annotations": _ANNOTATIONS},
                "spec": {"containers": [_CONTAINER]},
            },
            "profiles": [{"type": L4, "load": str(self.load)}],
        }
        spec = {
            "roles": [role],
            "load": {
                "queries": [{"name": "Load", "query": requests_came(PLIMSOLL)}],
                "forecast": {"horizon": f"{2 * START_SECONDS}s"},
            },
            "scaling": {"down": {"stabilizationWindow": f"{DOWN_WINDOW_SECONDS}s"}},
        }
        self._make("plimsoll.dev/v1alpha1", "InferenceJob", PLIMSOLL, spec)

    def _hpa(self) -> None:
        self._deployment(HPA)
        described = {"apiVersion": "v1", "kind": "Service", "name": HPA}
        metric: Manifest = {
            "describedObject": described,
            "metric": {"name": METRIC},
            "target": {"type": "AverageValue", "averageValue": f"{int(self.load * 1000)}m"},
        }
        spec = {
            "scaleTargetRef": {**_TARGET, "name": HPA},
            "minReplicas": 1,
            "maxReplicas": MOST_REPLICAS,
            "metrics": [{"type": "Object", "object": metric}],
            "behavior": _BEHAVIOR,
        }
        self._make("autoscaling/v2", "HorizontalPodAutoscaler", HPA, spec)

    def _scaled_object(self) -> None:
        self._deployment(KEDA)
        trigger = {
            "serverAddress": self.prometheus,
            "query": requests_came(KEDA),
            "threshold": f"{self.load:g}",
        }
        spec = {
            "scaleTargetRef": {**_TARGET, "name": KEDA},
            "pollingInterval": 1,
            "cooldownPeriod": DOWN_WINDOW_SECONDS,
            "minReplicaCount": 0,
            "maxReplicaCount": MOST_REPLICAS,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _BEHAVIOR}},
            "triggers": [
                {"type": "prometheus", "metricType": "AverageValue", "metadata": trigger},
            ],
        }
        self._make("keda.sh/v1alpha1", "ScaledObject", KEDA, spec)

    def _deployment(self, name: str) -> None:
        labels = {"app": name}
        gpu = {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": "1"}}
        template = {
            "metadata": {"labels": labels, "annotations": _ANNOTATIONS},
            "spec": {"containers": [{**_CONTAINER, "resources": gpu}]},
        }
        spec = {"selector": {"matchLabels": labels}, "template": template}
        self._make("apps/v1", "Deployment", name, spec)

    def _make(self, version: str, kind: str, name: str, spec: Manifest) -> None:
        path = f"/apis/{version}/namespaces/{self.namespace}/{kind.lower()}s/{name}"
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.api.apply(path, body)


def requests_came(service: str) -> str:
    """The query for the requests per second that come to a service."""
    return f'sum(rate(gateway_requests_total{{service="{service}"}}[{WINDOW}]))'
