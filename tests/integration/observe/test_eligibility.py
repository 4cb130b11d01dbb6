"""The table of who runs where, held against a real kube-scheduler."""

from collections.abc import Iterator
from typing import Any

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.waiting import wait_until
from support.objects.scheduling_cases import CASES, Case

ALONE = "plimsoll.dev/test-case"
LAST = "last"


def the_node(case: Case, number: int) -> dict[str, Any]:
    labels = {**case.labels, ALONE: str(number)}
    node = fake_node(case.node_name, gpus=0, labels=labels, taints=case.taints)
    return {**node, "spec": {**node["spec"], "unschedulable": case.cordoned}}


def the_pod(case: Case, number: int) -> dict[str, Any]:
    # The selector keeps it off the nodes of the other cases, and both selectors must hold.
    selector = {**case.pod.get("nodeSelector", {}), ALONE: str(number)}
    spec = {**case.pod, "nodeSelector": selector, "containers": [{"name": "c", "image": "none"}]}
    return {"metadata": {"name": case.node_name}, "spec": spec}


def decisions(pods: list[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    for pod in pods:
        conditions = {c["type"]: c for c in pod["status"].get("conditions", [])}
        scheduled = conditions.get("PodScheduled", {})
        if scheduled.get("status") == "True":
            yield pod["metadata"]["name"], True
        elif scheduled.get("reason") == "Unschedulable":
            yield pod["metadata"]["name"], False


def the_scheduler_knows_all_nodes(api: ApiServer, pods: str) -> None:
    """Return once a pod runs on a node that was added last: changes reach the scheduler in order.

    Before that it may take a pod to be unschedulable for which there is a node.
    """
    add_nodes(api, [fake_node(LAST, gpus=0)])
    spec = {"nodeSelector": {"kubernetes.io/hostname": LAST}}
    containers = [{"name": "c", "image": "none"}]
    api.create(pods, {"metadata": {"name": LAST}, "spec": {**spec, "containers": containers}})
    wait_until(
        lambda: dict(decisions(api.items(pods))).get(LAST),
        timeout_seconds=60,
        what="the scheduler has placed a pod on the last node",
    )


def test_the_scheduler_decides_as_the_table_says(api: ApiServer, namespace: str) -> None:
    add_nodes(api, [the_node(case, number) for number, case in enumerate(CASES)])
    pods = f"/api/v1/namespaces/{namespace}/pods"
    the_scheduler_knows_all_nodes(api, pods)
    api.create_all(pods, [the_pod(case, number) for number, case in enumerate(CASES)])

    def decided() -> dict[str, bool] | None:
        found = dict(decisions(api.items(pods)))
        return found if len(found) == len(CASES) + 1 else None

    real = wait_until(decided, timeout_seconds=60, what="the scheduler has seen every pod")
    assert real == {LAST: True, **{case.node_name: case.runs for case in CASES}}
