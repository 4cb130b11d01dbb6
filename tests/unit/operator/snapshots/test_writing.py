"""A snapshot file holds what plans depend on, whole, and nothing that is private."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from plimsoll.cli.inputs.sources import described
from plimsoll.observe.observer import Objects, Observer
from plimsoll.planning.provisioning.future_nodes import future_nodes
from plimsoll.snapshots.writing import document, write
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import a_stand_in, placed_pods
from support.clusters.seen import NAMESPACE, a_reading, at, objects_of, pods_of
from support.clusters.snapshot_files import TAKEN, input_of, planned, snapshot_of
from support.clusters.target_lives import a_targeting_job, a_workload
from support.objects.batch_jobs import a_batch_job
from support.objects.bought_nodes import NODE_CLASS, a_claim, a_growing_pool
from support.objects.job_manifests import (
    a_gpu_pod,
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.objects.manifests import edited
from support.objects.volumes import a_volume

SECRET = "hunter2"
BUDGET: Manifest = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "careful", "namespace": NAMESPACE},
    "spec": {"selector": {"matchLabels": {"plimsoll.dev/job-name": "runs"}}},
    "status": {"disruptionsAllowed": 0},
}
PRIVATE: dict[str, Any] = {
    "env": [{"name": "TOKEN", "value": SECRET}],
    "args": [f"--password={SECRET}"],
    "command": [SECRET],
    "image": f"registry.example/{SECRET}:1",
    "volumeMounts": [{"name": SECRET, "mountPath": f"/{SECRET}"}],
}


def a_private_template() -> Manifest:
    return edited(
        a_template({"cpu": "4", "memory": "16Gi"}, nodeSelector={"zone": "a"}),
        {
            "metadata.annotations": {"note": SECRET},
            **{f"spec.containers.0.{name}": value for name, value in PRIVATE.items()},
            "spec.volumes": [
                {"name": "v", "secret": {"secretName": SECRET}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
            ],
            "spec.imagePullSecrets": [{"name": SECRET}],
            "spec.tolerations": [{"key": "team", "operator": "Exists"}],
        },
    )


def everything() -> Objects:
    """Objects of each kind, with something private wherever there can be."""
    template = a_private_template()
    runs = at(a_training_job("runs", gpus=4, template=template), "n-0")
    pods = [
        edited(
            pod,
            {
                "metadata.annotations": {"note": SECRET},
                **{f"spec.containers.0.{name}": value for name, value in PRIVATE.items()},
                "status.message": SECRET,
                "status.containerStatuses": [
                    {
                        "name": "main",
                        "state": {"terminated": {"exitCode": 1, "message": SECRET}},
                    }
                ],
            },
        )
        for pod in pods_of(runs)
    ]
    waits = a_training_job(
        "waits",
        gpus=16,
        template=template,
        checkpoint={"location": f"s3://{SECRET}@store"},
        priorityClassName="urgent",
        queue="research",
        work={"amount": 1000},
    )
    serves = an_inference_job(
        "serves", replicas=2, template=template, load={"queries": [a_query(SECRET)]}
    )
    nodes = [fake_node(f"n-{n}", labels={"zone": "a"}) for n in range(2)]
    adopted_runs, adopted_waits = a_private_job("adopted-runs"), a_private_job("adopted-waits")
    stand_in = at(a_stand_in(adopted_runs), "n-1", "n-1")
    return objects_of(
        *(edited(node, {"spec.providerID": SECRET}) for node in nodes),
        runs,
        *pods,
        edited(waits, {"metadata.annotations": {"note": SECRET}}),
        serves,
        adopted_runs,
        stand_in,
        *placed_pods(adopted_runs, stand_in),
        adopted_waits,
        a_stand_in(adopted_waits),
        a_gpu_pod("foreign", "n-1", gpus=2),
        a_priority_class("urgent", 1000),
        BUDGET,
        edited(
            a_volume("disk", NAMESPACE, "data", key="zone", values=["a"]),
            {"metadata.annotations": {"note": SECRET}, "spec.csi.volumeHandle": SECRET},
        ),
        a_queue("research", guaranteed=4, limit=8),
        a_pool("h100", {"zone": "a"}, pricePerGPUHour="2.5"),
        a_pool_with_a_private_template(),
        a_claim("growing-1", pool="growing", annotations={"note": SECRET}),
        a_power_domain("row", {"zone": "a"}, budget_watts=9000),
        a_policy_with_a_signal(),
    )


def a_private_job(name: str) -> Manifest:
    """A Job that asks to be planned, with something private wherever there can be."""
    job = a_batch_job(name)
    private = {f"spec.template.spec.containers.0.{key}": value for key, value in PRIVATE.items()}
    noted = {"plimsoll.dev/work.amount": "1000", "note": SECRET}
    template = {"annotations": {"note": SECRET}, "labels": {"of": SECRET}}
    failed = {"type": "FailureTarget", "status": "True", "reason": "Why", "message": SECRET}
    return edited(
        job,
        {
            **private,
            "metadata.annotations": noted,
            "metadata.labels": {**job["metadata"]["labels"], "of": SECRET},
            "spec.template.metadata": template,
            "spec.template.spec.volumes": [{"name": SECRET, "emptyDir": {}}],
            "status": {"active": 0, "conditions": [failed]},
        },
    )


def a_policy_with_a_signal() -> Manifest:
    signal = {"query": f'grid{{token="{SECRET}"}}', "usual": 400}
    policy = a_policy(objective={"preset": "Balanced", "energySignal": signal})
    energy = {"factor": "2", "observedTime": "2026-11-21T12:00:00Z"}
    return {**policy, "status": {"energy": energy}}


def a_pool_with_a_private_template() -> Manifest:
    template = {
        "metadata": {"labels": {"of": "growing"}, "annotations": {"note": SECRET}},
        "spec": {"nodeClassRef": {**NODE_CLASS, "name": SECRET}},
    }
    return a_growing_pool("growing", provisioning={"nodeClaim": template})


def a_query(text: str) -> Manifest:
    return {"name": "Load", "query": f'sum(rate(requests{{token="{text}"}}[5m]))'}


def test_nothing_private_is_written() -> None:
    text = b"".join(document(planned(everything()))).decode()
    assert SECRET not in text
    assert '"serves"' in text


def test_what_is_read_again_is_the_same_problem(tmp_path: Path) -> None:
    objects = everything()
    file = snapshot_of(objects, tmp_path)
    again = described([str(file)], (), TAKEN)
    assert input_of(again.objects) == input_of(objects)
    assert not again.ignored
    assert input_of(objects).problem.jobs


def test_what_is_bought_and_on_its_way_is_read_again(tmp_path: Path) -> None:
    objects = everything()
    again = described([str(snapshot_of(objects, tmp_path))], (), TAKEN).objects
    before, after = (Observer().snapshot(each, TAKEN) for each in (objects, again))
    assert after.orders == before.orders
    assert [order.name for order in after.orders] == ["growing-1"]
    nodes, same = (future_nodes(each, frozenset()) for each in (before, after))
    assert [each.view for each in nodes] == [each.view for each in same]
    assert len(nodes) > 1


def test_only_services_that_are_being_renewed_are_read_again_as_such(tmp_path: Path) -> None:
    template, plain = a_private_template(), a_template(nodeSelector={"zone": "a"})
    steady = at(an_inference_job("steady", template=template), "n-0")
    changed = at(an_inference_job("changed", template=template), "n-0")
    before = at(an_inference_job("changed", template=plain), "n-0")
    nodes = [fake_node(f"n-{n}", labels={"zone": "a"}) for n in range(2)]
    objects = objects_of(*nodes, steady, *pods_of(steady), changed, *pods_of(before))
    again = described([str(snapshot_of(objects, tmp_path))], (), TAKEN).objects
    found, same = input_of(objects), input_of(again)
    assert found == same
    assert found.renewal.added == same.renewal.added == {f"InferenceJob/{NAMESPACE}/changed"}


def test_adopted_jobs_are_read_again_with_their_pods(tmp_path: Path) -> None:
    objects = everything()
    again = described([str(snapshot_of(objects, tmp_path))], (), TAKEN).objects
    for which in (objects, again):
        snapshot = Observer().snapshot(which, TAKEN)
        jobs = {view.resource.metadata.name: view for view in snapshot.jobs}
        runs, waits = jobs["job-adopted-runs"], jobs["job-adopted-waits"]
        assert [pod.node for pod in runs.pods] == ["n-1", "n-1"]
        assert not waits.pods
        assert (runs.refusal, waits.refusal) == (None, None)
        assert runs.workload is not None
        assert runs.workload.uid == "uid-Job-adopted-runs"


@pytest.mark.parametrize(
    "annotation",
    ["checkpoint.location", "checkpoint", "password", "work.amount"],
)
def test_of_annotations_only_those_by_which_a_job_is_planned_are_written(annotation: str) -> None:
    said = {annotation: f'{{"location": "{SECRET}"}}'}
    text = b"".join(document(planned(objects_of(a_batch_job(annotations=said))))).decode()
    assert SECRET not in text
    kept = b"".join(document(planned(objects_of(a_batch_job(annotations={"work.amount": "7"})))))
    assert b'"plimsoll.dev/work.amount":"7"' in kept


def test_of_a_targets_annotations_only_who_scales_it_is_written() -> None:
    target = a_workload()
    said = {"serving.kserve.io/autoscalerClass": "external", "example.com/token": SECRET}
    target["metadata"]["annotations"] = said
    objects = objects_of(a_targeting_job(target=target), targets=[a_reading(target)])
    text = b"".join(document(planned(objects))).decode()
    assert '"serving.kserve.io/autoscalerClass":"external"' in text
    assert SECRET not in text


def test_the_plan_stands_in_the_file_with_when_it_was_made(tmp_path: Path) -> None:
    text = snapshot_of(everything(), tmp_path).read_text()
    head = text.splitlines()[0]
    assert '"snapshotVersion":1,"taken":"2026-11-21T12:00:30.000125Z"' in head
    assert f'"TrainingJob/team/runs":[{{"role":"worker","replica":0,"gpuType":"{H100}"' in head
    assert '"effort":{"deterministicSeconds":0.2,"workers":1}' in head


def test_each_object_has_a_line_of_its_own(tmp_path: Path) -> None:
    objects = everything()
    lines = snapshot_of(objects, tmp_path).read_text().splitlines()
    kinds = [line for line in lines if line.startswith('{"apiVersion":') and '"items"' not in line]
    assert len(kinds) == sum(
        len([*each])
        for each in (
            objects.nodes,
            objects.pods,
            objects.resources,
            objects.priority_classes,
            objects.budgets,
            objects.workloads,
            objects.node_claims or (),
            objects.volumes,
        )
    )


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    other = tmp_path / "notes.json"
    other.write_text("{}")
    moment = planned(objects_of(fake_node("n-0")))
    for second in range(5):
        write(tmp_path, replace(moment, now=TAKEN + timedelta(seconds=second)), keep=2)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "notes.json",
        "snapshot-20261121T120033.000125Z.json",
        "snapshot-20261121T120034.000125Z.json",
    ]


def test_a_file_that_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    broken = replace(planned(objects_of(fake_node("n-0"))), objects=Objects(_failing(), (), ()))
    with pytest.raises(OSError, match="no more"):
        write(tmp_path, broken, keep=2)
    assert not [*tmp_path.iterdir()]


def _failing() -> Any:  # noqa: ANN401 - never gives anything
    raise OSError("no more")
    yield
