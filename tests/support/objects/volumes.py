"""Volumes, and claims on them."""

from collections.abc import Iterable

from plimsoll_devcluster.manifest import Manifest
from support.objects.job_manifests import a_template

ZONE = "topology.kubernetes.io/zone"


def a_volume(
    name: str, *claim: str, key: str = ZONE, values: Iterable[str] = (), phase: str = "Bound"
) -> Manifest:
    """A volume of a claim (its namespace and name) that nodes with these labels reach, or all."""
    requirement = {"key": key, "operator": "In", "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    namespace, of = claim
    spec: Manifest = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "disks.example", "volumeHandle": name},
        "claimRef": {"namespace": namespace, "name": of},
    }
    if values:
        spec["nodeAffinity"] = {"required": terms}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"phase": phase},
    }


def a_template_with_claims(*claims: str) -> Manifest:
    """A pod template that mounts the volumes of these claims."""
    template = a_template()
    template["spec"]["volumes"] = [
        {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims
    ]
    return template
