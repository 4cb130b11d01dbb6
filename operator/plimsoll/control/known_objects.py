"""What the watches know of a cluster, for whoever makes snapshots of it."""

from plimsoll.control.cluster_watch import ClusterWatch
from plimsoll.kube.watching.target_watch import TargetWatch
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.observer import Objects


def known_objects(watch: ClusterWatch, resources: CustomResources, targets: TargetWatch) -> Objects:
    """All objects as the watches currently know them; nothing of what is measured."""
    return Objects(
        nodes=tuple(watch.nodes.objects.values()),
        pods=tuple(watch.pods.objects.values()),
        resources=resources.all(),
        refused=resources.refused(),
        priority_classes=tuple(watch.priority_classes.objects.values()),
        budgets=tuple(watch.budgets.objects.values()),
        namespaces=tuple(watch.namespaces.objects.values()),
        volumes=tuple(watch.volumes.objects.values()),
        targets=targets.readings(),
        workloads=watch.workloads(),
        node_claims=watch.node_claims(),
        provisioning_requests=watch.provisioning_requests(),
    )
