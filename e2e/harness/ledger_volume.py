"""A volume that the console may write its ledger to, whatever volumes the cluster makes itself."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from harness.real_cluster import SHARED, RealCluster
from harness.release import NAMESPACE

_NAME = "plimsoll-e2e-ledger"
_VOLUME = f"/api/v1/persistentvolumes/{_NAME}"
_CLAIM = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/plimsoll-console-ledger"


@contextmanager
def ledger_volume(cluster: RealCluster) -> Generator[str]:
    """Yield the storage class to name: of a folder that all nodes share, else the cluster's own.

    Afterwards the ledger is gone: the release leaves it where it is.
    """
    if cluster.shared is not None:
        folder = Path(tempfile.mkdtemp(prefix="ledger-", dir=cluster.shared))
        folder.chmod(0o777)  # no kubelet gives such a volume to a pod's group
        cluster.api.create("/api/v1/persistentvolumes", _volume(f"{SHARED}/{folder.name}"))
    try:
        yield _NAME if cluster.shared is not None else ""
    finally:
        cluster.api.delete(_CLAIM)
        cluster.api.delete(_VOLUME)


def _volume(path: str) -> dict[str, object]:
    spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": _NAME,
        "hostPath": {"path": path},
    }
    return {"metadata": {"name": _NAME}, "spec": spec}
