"""A hostile tenant next to each history, with a namespace, a queue and a node of its own."""

from dataclasses import replace
from random import Random

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.hostile_objects import (
    a_job,
    a_service,
    changes,
    deployment_of_the_far_future,
    hostile_objects,
    stubborn_budget,
)
from plimsoll_devcluster.histories.script import (
    IN_HISTORIES,
    LANE,
    LOW,
    Call,
    Lane,
    Script,
)
from plimsoll_devcluster.manifest import Manifest

_MOST = 5
"""The most hostile jobs per tenant."""


def beside_hostile_tenants(script: Script) -> Script:
    """The same histories, each with a hostile tenant next to it.

    The events of the histories themselves stay as drawn.
    """
    lanes = tuple(
        replace(lane, neighbour=_neighbour(f"{lane.namespace}-x", script.seconds))
        for lane in script.lanes
    )
    return replace(script, lanes=lanes)


def _neighbour(namespace: str, seconds: float) -> Lane:
    rng = Random(namespace)  # noqa: S311 - no secret
    lane = Lane(namespace, priority_classes=(LOW,))
    node, labels = f"{namespace}-n", {LANE: namespace, **IN_HISTORIES}
    lane.nodes[node] = fake_node(node, H100, 4, cpu="64", labels=labels)
    plain = a_job(namespace), a_service(namespace), deployment_of_the_far_future(namespace)
    lane.calls += (_comes(lane, 0.0, each) for each in (*plain, stubborn_budget()))
    odd = hostile_objects(namespace)
    for name in rng.sample(list(odd), k=rng.randint(1, _MOST)):
        call = _comes(lane, rng.uniform(0, seconds), odd[name])
        lane.calls.append(replace(call, may_be_refused=True))
    path = f"{_collection(lane, plain[0])}/plain"
    for what, change in rng.sample(list(changes(namespace).items()), k=2):
        at, patch = rng.uniform(seconds / 3, seconds), {"spec": change}
        lane.calls.append(Call(at, f"plain {what}", "PATCH", path, patch, may_be_refused=True))
    return lane


def _comes(lane: Lane, at: float, thing: Manifest) -> Call:
    what, path = f"{thing['metadata']['name']} comes", _collection(lane, thing)
    return Call(at, what, "POST", path, thing)


def _collection(lane: Lane, thing: Manifest) -> str:
    return f"/apis/{thing['apiVersion']}/namespaces/{lane.namespace}/{thing['kind'].lower()}s"
