"""The common ground of all histories: priority classes, the policy and the pool of their nodes."""

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.histories.script import (
    GROUP,
    HIGH,
    IDLE_WATTS,
    IN_HISTORIES,
    LIMIT_WATTS,
    LOW,
    TYPICAL_WATTS,
)
from plimsoll_devcluster.processes.operator_process import ensure_namespace

_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def prepare(api: ApiServer) -> None:
    """Create them on a control plane that has our custom resources."""
    ensure_namespace(api)
    for name, value in ((HIGH, 100), (LOW, -10)):
        head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        api.apply(f"{_CLASSES}/{name}", {**head, "metadata": {"name": name}, "value": value})
    # No failure here is a node's fault, and clusters this small are planned in no time.
    spec = {"quarantine": {"failures": 0}, "planning": {"timeLimit": "200ms"}}
    head = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": "PlacementPolicy"}
    policy = {**head, "metadata": {"name": "default"}, "spec": spec}
    api.apply(f"{GROUP}/placementpolicies/default", policy)
    watts = {"idleWatts": IDLE_WATTS, "typicalWatts": TYPICAL_WATTS, "limitWatts": LIMIT_WATTS}
    pool = {"metadata": {"name": "histories"}, "kind": "GPUPool", "apiVersion": head["apiVersion"]}
    spec = {"nodeSelector": IN_HISTORIES, "power": watts}
    api.apply(f"{GROUP}/gpupools/histories", {**pool, "spec": spec})
