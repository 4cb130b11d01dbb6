from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from plimsoll.kube.objects.objects import Node
from plimsoll.observe.nodes.discovered_labels import DISCOVERY_GRACE, DiscoveredLabels
from plimsoll.observe.observer import Observer
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.placing.retention import stayable
from support.clusters.seen import NOW, at, objects_of
from support.objects.job_manifests import a_pool, a_training_job

CLIQUE, NFD = "nvidia.com/gpu.clique", "feature.node.kubernetes.io/pci-10de.present"
PRODUCT, TEAM = "nvidia.com/gpu.product", "example.com/team"
FOUND = {PRODUCT: "NVIDIA-GB200", CLIQUE: "a", NFD: "true"}
SECOND = timedelta(seconds=1)


def a_node(labels: Mapping[str, str]) -> Node:
    node = fake_node("node", gpus=0, labels=labels)
    (found,) = objects_of(node).nodes
    return found


class Seen:
    """A node as it is given, one time after the other."""

    def __init__(self) -> None:
        self._discovered = DiscoveredLabels()

    def labels(self, node: Node, now: datetime = NOW) -> dict[str, str]:
        (found,) = self._discovered.of((node,), now)
        return {key: value for key, value in found.metadata.labels.items() if key in {*FOUND, TEAM}}


def test_what_was_discovered_counts_for_a_while_once_it_is_gone() -> None:
    seen, gone = Seen(), a_node({})
    assert seen.labels(a_node({**FOUND, TEAM: "a"})) == {**FOUND, TEAM: "a"}
    assert seen.labels(gone) == FOUND, "and nothing that others have removed"
    assert seen.labels(gone, NOW + DISCOVERY_GRACE) == FOUND
    assert seen.labels(a_node({TEAM: "b"}), NOW + DISCOVERY_GRACE) == {**FOUND, TEAM: "b"}
    assert seen.labels(gone, NOW + DISCOVERY_GRACE + SECOND) == {}
    assert seen.labels(a_node({TEAM: "c"}), NOW + DISCOVERY_GRACE + SECOND) == {TEAM: "c"}
    assert seen.labels(a_node(FOUND), NOW + 2 * DISCOVERY_GRACE) == FOUND
    assert seen.labels(gone, NOW + 3 * DISCOVERY_GRACE) == FOUND, "its time begins anew"


def test_where_gpus_have_a_name_labels_are_believed() -> None:
    seen, other = Seen(), {PRODUCT: "NVIDIA-GB200-SHARED"}
    seen.labels(a_node(FOUND))
    assert seen.labels(a_node(other)) == other
    assert seen.labels(a_node({})) == other


def test_a_name_that_the_cloud_gives_stands_for_nothing_that_was_discovered() -> None:
    seen, cloud = Seen(), {"karpenter.k8s.aws/instance-gpu-name": "gb200"}
    seen.labels(a_node({**FOUND, **cloud}))
    assert seen.labels(a_node(cloud)) == FOUND


def test_a_node_that_is_new_or_comes_again_has_what_it_says() -> None:
    assert Seen().labels(a_node({})) == {}
    discovered = DiscoveredLabels()
    discovered.of((a_node(FOUND),), NOW)
    again = a_node({})
    metadata = msgspec.structs.replace(again.metadata, uid="another")
    (found,) = discovered.of((msgspec.structs.replace(again, metadata=metadata),), NOW)
    assert PRODUCT not in found.metadata.labels


def test_a_gang_stays_in_the_domain_of_nodes_whose_labels_are_written_anew() -> None:
    def nodes(labels: Mapping[str, str]) -> list[Manifest]:
        made = [fake_node(f"n-{n}") for n in range(2)]
        for node in made:
            own = node["metadata"]["labels"]
            kept = {k: v for k, v in own.items() if not k.startswith("nvidia.com/")}
            node["metadata"]["labels"] = {**own, **labels} if labels else kept
        return made

    pool = a_pool("racks", {"type": "kwok"}, topologyKeys=[{"name": "nvlink", "label": CLIQUE}])
    job = a_training_job("gang", workers=2, gpus=8, topology={"required": "nvlink"})
    gang, observer = at(job, "n-0", "n-1"), Observer()
    for labels in ({CLIQUE: "a"}, {}):
        snapshot = observer.snapshot(objects_of(*nodes(labels), pool, gang), NOW)
        problem = plan_input_of(snapshot, ProblemBuilder()).problem
        (found,) = problem.jobs
        assert stayable(problem, found) == found.running
