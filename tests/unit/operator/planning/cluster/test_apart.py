"""Pods that must not share a node with their like get one each."""

from collections import Counter
from typing import Any

import pytest

from plimsoll.planning.actions import Admit
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import a_stand_in
from support.clusters.planned import planned
from support.clusters.seen import a_reading, at, pods_of, seen
from support.clusters.target_lives import a_targeting_job, a_workload
from support.objects.batch_jobs import a_batch_job
from support.objects.job_manifests import a_gpu_pod, a_template, a_training_job, an_inference_job

HOSTNAME = "kubernetes.io/hostname"
NODES = [fake_node(f"n-{index}", gpus=4) for index in range(3)]


def apart(
    selector: Manifest,
    *,
    by: str = HOSTNAME,
    **term: Any,  # noqa: ANN401 - its other fields
) -> Manifest:
    """A template of pods with the label app=x that keep away from what a selector matches."""
    template = a_template(labels={"app": "x"})
    terms = [{"topologyKey": by, "labelSelector": selector, **term}]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    template["spec"]["affinity"] = {"podAntiAffinity": rule}
    return template


def listening(port: int) -> Manifest:
    """A template of pods in the network of their node that listen on a port."""
    template = a_template(hostNetwork=True)
    template["spec"]["containers"][0]["ports"] = [{"containerPort": port}]
    return template


def most_on_a_node(*manifests: Manifest) -> int:
    """How many pods the plan puts on any node at most."""
    admitted = (each for each in planned(*manifests).changes if isinstance(each, Admit))
    return max(Counter(n for e in admitted for a in e.assignments for n in a.nodes).values())


@pytest.mark.parametrize(
    "template",
    [
        apart({"matchLabels": {"app": "x"}}),
        apart({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}),
        apart({"matchLabels": {"plimsoll.dev/job-name": "job"}}),
        apart({}, namespaces=["team"]),
        apart({"matchLabels": {"app": "x"}}, namespaceSelector={}),
        listening(29500),
    ],
    ids=["labels", "expressions", "job", "namespace", "everywhere", "port"],
)
def test_workers_that_keep_away_from_each_other_have_a_node_each(template: Manifest) -> None:
    assert most_on_a_node(*NODES, a_training_job("job", workers=3, template=template)) == 1
    (hold,) = planned(*NODES, a_training_job("job", workers=4, template=template)).holds
    assert hold.message.endswith("pod slots for 3 of 4 pods")


@pytest.mark.parametrize(
    "template",
    [
        apart({"matchLabels": {"app": "y"}}),
        apart({"matchLabels": {"app": "x"}}, by="topology.kubernetes.io/zone"),
        apart({"matchLabels": {"app": "x"}}, namespaces=["other"]),
        apart({"matchLabels": {"app": "x"}}, namespaceSelector={"matchLabels": {"a": "b"}}),
        a_template(labels={"app": "x"}),
    ],
    ids=["others", "zone", "elsewhere", "selected", "none"],
)
def test_what_is_no_rule_among_them_is_left_to_kube_scheduler(template: Manifest) -> None:
    assert most_on_a_node(*NODES, a_training_job("job", workers=3, template=template)) == 3


def test_jobs_of_one_kind_keep_away_from_each_other_and_from_no_other_namespaces() -> None:
    template = apart({"matchLabels": {"app": "x"}})
    one, two = (a_training_job(name, template=template) for name in ("one", "two"))
    assert most_on_a_node(*NODES, one, two) == 1
    two["metadata"]["namespace"] = "other"
    assert most_on_a_node(*NODES, one, two) == 2


def test_a_replica_that_is_added_goes_where_none_is() -> None:
    service = an_inference_job("serve", template=apart({"matchLabels": {"app": "x"}}))
    service["spec"]["roles"][0]["replicas"] = {"min": 1, "max": 3}
    service["spec"]["replicas"] = 2
    service = at(service, "n-0")
    (change,) = planned(*NODES[:2], service, *pods_of(service)).changes
    assert "n-0, " in change.message
    assert change.message.endswith("n-1")


def test_a_port_that_somebody_else_has_is_not_to_be_had() -> None:
    other = a_gpu_pod("exporter", "n-0")
    other["spec"]["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": 29500}]
    node, job = NODES[0], a_training_job("job", template=listening(29500))
    (hold,) = planned(node, other, job).holds
    assert hold.message.endswith("nodes with such GPUs free offer no host port TCP 29500")
    assert most_on_a_node(node, other, a_training_job("job", template=listening(29501))) == 1


def with_rule(template: Manifest) -> None:
    """Let the pods of another controller's template keep away from each other."""
    template["metadata"] = {"labels": {"app": "web"}}
    template["spec"]["affinity"] = apart({"matchLabels": {"app": "web"}})["spec"]["affinity"]


def test_pods_of_other_controllers_keep_away_from_each_other_too() -> None:
    batch = a_batch_job("train", workers=3)
    with_rule(batch["spec"]["template"])
    assert most_on_a_node(*NODES, batch, a_stand_in(batch)) == 1
    target, job = a_workload(replicas=1), a_targeting_job()
    with_rule(target["spec"]["template"])
    snapshot = seen(*NODES, job, targets=[a_reading(target)])
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    (role,) = plan_input.problem.jobs[0].roles
    assert [name.partition("|")[0] for name, _ in role.shape.others] == [
        "single:node without its like (podAntiAffinity)"
    ]
