"""Objects as their users applied them."""

from typing import cast

from plimsoll.api.definition import API_VERSION
from plimsoll.api.resource import Resource
from plimsoll_simulator.cluster.patches import Raw


def as_applied(resource: Resource) -> Raw:
    """An object without what the API server and the operator have added.

    An adopted job has no other controller here, so it is a job like any.
    """
    meta, wire = resource.metadata, resource.wire()
    spec = cast("Raw", wire["spec"])
    return {
        **wire,
        "apiVersion": API_VERSION,
        "kind": resource.definition.kind,
        "metadata": {
            "name": meta.name,
            **({"namespace": meta.namespace} if meta.namespace else {}),
            "labels": meta.labels,
            "annotations": meta.annotations,
        },
        "spec": {name: value for name, value in spec.items() if name != "workloadRef"},
        "status": {},
    }
