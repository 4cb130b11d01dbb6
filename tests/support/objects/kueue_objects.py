"""Kueue's objects as a user writes them; a test names only what it is about."""

from collections.abc import Mapping
from typing import Any

from plimsoll_devcluster.manifest import Manifest

GPU = "nvidia.com/gpu"
_V1BETA2 = "kueue.x-k8s.io/v1beta2"


def kueue(
    kind: str,
    name: str,
    *,
    namespace: str = "",
    **body: Any,  # noqa: ANN401 - fields of the object
) -> Manifest:
    """An object of one of Kueue's kinds."""
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": _V1BETA2, "kind": kind, "metadata": meta, **body}


def a_flavor(
    name: str,
    labels: Mapping[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A ResourceFlavor of the nodes with these labels; without any, its nodes' GPUs are `name`."""
    labels = {"nvidia.com/gpu.product": name} if labels is None else dict(labels)
    return kueue("ResourceFlavor", name, spec={"nodeLabels": labels, **spec})


def a_quota(
    nominal: float | str,
    flavor: str = "h100",
    *,
    of: str = GPU,
    **limits: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A group of one flavor with a quota of one resource."""
    resource = {"name": of, "nominalQuota": nominal, **limits}
    return {"coveredResources": [of], "flavors": [{"name": flavor, "resources": [resource]}]}


def a_cluster_queue(
    name: str,
    *groups: Manifest,
    cohort: str = "",
    **spec: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A ClusterQueue that admits all namespaces, and whose preemption is as Plimsoll's."""
    policy = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    whole = {"namespaceSelector": {}, "preemption": policy, "resourceGroups": [*groups], **spec}
    return kueue("ClusterQueue", name, spec=whole | ({"cohortName": cohort} if cohort else {}))


def a_cohort(
    name: str,
    *groups: Manifest,
    parent: str = "",
    **spec: Any,  # noqa: ANN401 - same
) -> Manifest:
    """A Cohort."""
    above = {"parentName": parent} if parent else {}
    return kueue("Cohort", name, spec={"resourceGroups": [*groups], **above, **spec})


def a_local_queue(namespace: str, queue: str, name: str = "main", **spec: Any) -> Manifest:  # noqa: ANN401 - same
    """A LocalQueue."""
    return kueue("LocalQueue", name, namespace=namespace, spec={"clusterQueue": queue, **spec})
