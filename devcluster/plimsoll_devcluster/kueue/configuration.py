"""How Kueue is configured here: as upstream installs it, but for what is said beside each part."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from plimsoll_devcluster.manifest import Manifest

NAMESPACE = "kueue-system"
SERVICE = "kueue-webhook-service"
SECRET = "kueue-webhook-server-cert"  # noqa: S105 - its name
LOOPBACK = "127.0.0.1"
# No waiting for pods to be ready, which is on by default; no API of pending workloads, whose
# certificates are where only a container has them; and no other clusters.
FEATURES = {"DisableWaitForPodsReady": True, "VisibilityOnDemand": False, "MultiKueue": False}
_CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
_GROUPS = frozenset({"batch", "kueue.x-k8s.io"})
_UNLIMITED = -1


def configuration(certificates: Path, webhook_port: int, probe_port: int) -> Manifest:
    """Its configuration file: Jobs only, nothing that limits its requests, and more workers."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{probe_port}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": LOOPBACK, "port": webhook_port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": _UNLIMITED, "burst": 0},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 20,
                "Pod": 20,
                "Workload.kueue.x-k8s.io": 20,
                "LocalQueue.kueue.x-k8s.io": 5,
                "ClusterQueue.kueue.x-k8s.io": 5,
            }
        },
        "internalCertManagement": {"enable": True},
        "integrations": {"frameworks": ["batch/job"]},
    }


def admission(upstream: Iterable[Manifest], port: int) -> list[Manifest]:
    """Upstream's webhook configurations, with only the webhooks of Jobs and of its own kinds."""
    found: list[Manifest] = []
    for each in filter(None, upstream):
        webhooks = [_led_here(webhook, port) for webhook in each["webhooks"] if _is_used(webhook)]
        metadata = {"name": f"kueue-{each['metadata']['name']}"}
        found.append({**each, "metadata": metadata, "webhooks": webhooks})
    return found


def conversion(port: int) -> Mapping[str, Manifest]:
    """What has the API server ask Kueue to convert objects, for each definition's name."""
    webhook: Manifest = {
        "clientConfig": {"service": _service("/convert", port)},
        "conversionReviewVersions": ["v1"],
    }
    patch: Manifest = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    return {f"{plural}.kueue.x-k8s.io": patch for plural in _CONVERTED}


def _is_used(webhook: Manifest) -> bool:
    return any(_GROUPS & {*rule["apiGroups"]} for rule in webhook["rules"])


def _led_here(webhook: Manifest, port: int) -> Manifest:
    path = webhook["clientConfig"]["service"]["path"]
    return {**webhook, "clientConfig": {"service": _service(path, port)}}


def _service(path: str, port: int) -> Manifest:
    return {"namespace": NAMESPACE, "name": SERVICE, "path": path, "port": port}
