from dataclasses import replace
from typing import Any

import pytest

from plimsoll.acting.pods.manifest import (
    Gang,
    Manifest,
    PodPlacement,
    pod_manifest,
    service_manifest,
)
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.batch import PlacedBatch
from plimsoll.api.training_job import TrainingJob
from support.clusters.pod_lives import environment
from support.clusters.seen import seen
from support.objects.job_manifests import a_template, a_training_job, an_inference_job

PLACEMENT = PodPlacement("worker", 1, 0, 7, "node-1", "nvidia.com/gpu", 4)
ZONE_A = {"key": "zone", "operator": "In", "values": ["a"]}
ZONE_B = {"key": "zone", "operator": "In", "values": ["b"]}
HERE = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}


def as_job(manifest: Manifest) -> Job:
    (view,) = seen(manifest).jobs
    return view.resource


def trained(
    *,
    workers: int = 2,
    template: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a job's spec
) -> Manifest:
    """The pod of a training job's second worker."""
    job = a_training_job("train", workers=workers, gpus=4, template=template, **spec)
    return pod_manifest(as_job(job), PLACEMENT, Gang({"worker": workers}))


def template_with(**container: Any) -> Manifest:  # noqa: ANN401 - fields of a container
    template = a_template()
    template["spec"]["containers"][0] |= container
    return template


def test_a_pod_says_whose_it_is_and_which() -> None:
    pod = trained()
    assert pod["metadata"]["name"] == "train-worker-1"
    assert (
        pod["metadata"]["labels"].items()
        >= {
            "plimsoll.dev/job-name": "train",
            "plimsoll.dev/job-kind": "TrainingJob",
            "plimsoll.dev/job-uid": "uid-TrainingJob-train",
            "plimsoll.dev/role": "worker",
            "plimsoll.dev/replica": "1",
            "plimsoll.dev/rank": "0",
            "plimsoll.dev/revision": "7",
            "batch.kubernetes.io/job-completion-index": "1",
        }.items()
    )
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "TrainingJob",
        "uid-TrainingJob-train",
        True,
    )


def test_the_users_labels_and_annotations_stay() -> None:
    template = a_template(labels={"team": "vision"}, wishes={"run-seconds": "1"})
    metadata = trained(template=template)["metadata"]
    assert metadata["labels"]["team"] == "vision"
    assert metadata["annotations"] == {"plimsoll.dev/test-run-seconds": "1"}


def test_the_same_placement_makes_the_same_pod_and_another_template_another_hash() -> None:
    assert trained() == trained()
    hashes = {
        pod["metadata"]["labels"]["plimsoll.dev/template-hash"]
        for pod in (trained(), trained(template=template_with(image="main:2")))
    }
    assert len(hashes) == 2


def test_only_the_first_container_is_given_gpus_and_all_are_given_their_identity() -> None:
    template = a_template()
    template["spec"]["containers"].append({"name": "logs", "image": "logs:1"})
    first, second = trained(template=template)["spec"]["containers"]
    assert first["resources"]["limits"] == {"nvidia.com/gpu": 4}
    assert "limits" not in second.get("resources", {})
    assert {each["name"] for each in second["env"]} >= {"PLIMSOLL_JOB", "RANK"}


def test_what_the_user_sets_in_the_environment_holds() -> None:
    given = [{"name": "MASTER_PORT", "value": "1"}, {"name": "A", "value": "$(RANK)"}]
    pod = trained(template=template_with(env=given))
    assert environment(pod)["MASTER_PORT"] == "1"
    names = [each["name"] for each in pod["spec"]["containers"][0]["env"]]
    assert names.count("MASTER_PORT") == 1
    assert names.index("RANK") < names.index("A"), "so that what is defined last may use ours"


@pytest.mark.parametrize(
    ("workers", "gpus", "expected"),
    [
        (1, 8, {"MASTER_ADDR": "localhost", "WORLD_SIZE": "1", "PET_NPROC_PER_NODE": "8"}),
        (3, 2, {"MASTER_ADDR": "train-worker-0.train", "PET_NNODES": "3", "PET_NODE_RANK": "1"}),
        (2, "0.5", {"PET_NPROC_PER_NODE": "1"}),
    ],
)
def test_workers_learn_how_to_meet(workers: int, gpus: int | str, expected: dict[str, str]) -> None:
    job = as_job(a_training_job("train", workers=workers, gpus=gpus))
    assert (
        environment(pod_manifest(job, PLACEMENT, Gang({"worker": workers}))).items()
        >= expected.items()
    )


@pytest.mark.parametrize(
    ("terms", "narrowed"),
    [
        ([], [{"matchFields": [HERE]}]),
        (
            [{"matchExpressions": [ZONE_A]}, {"matchExpressions": [ZONE_B]}],
            [
                {"matchExpressions": [ZONE_A], "matchFields": [HERE]},
                {"matchExpressions": [ZONE_B], "matchFields": [HERE]},
            ],
        ),
    ],
)
def test_every_alternative_of_the_affinity_is_narrowed_to_the_node(
    terms: list[Manifest], narrowed: list[Manifest]
) -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [ZONE_A]}}]
    by_node: Manifest = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    if terms:
        by_node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    apart: Manifest = {"requiredDuringSchedulingIgnoredDuringExecution": []}
    template = a_template(affinity={"nodeAffinity": by_node, "podAntiAffinity": apart})
    affinity = trained(template=template)["spec"]["affinity"]
    required = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {"nodeSelectorTerms": narrowed}
    kept = affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert kept == preferred
    assert affinity["podAntiAffinity"] == apart


def test_nodes_that_are_tainted_for_gpus_are_borne_beside_what_the_user_bears() -> None:
    own = {"key": "dedicated", "operator": "Exists"}
    tolerations = trained(template=a_template(tolerations=[own]))["spec"]["tolerations"]
    assert own in tolerations
    assert "nvidia.com/gpu" in {each["key"] for each in tolerations}


@pytest.mark.parametrize(
    ("asked", "save_seconds", "grace"),
    [(None, 30, 60), (None, 0, 30), (500, 30, 500), (40, 30, 60)],
)
def test_a_worker_gets_time_to_save(asked: int | None, save_seconds: int, grace: int) -> None:
    template = a_template()
    if asked is not None:
        template["spec"]["terminationGracePeriodSeconds"] = asked
    pod = trained(template=template, checkpoint={"saveSeconds": save_seconds})
    assert pod["spec"]["terminationGracePeriodSeconds"] == grace


def test_a_worker_that_has_ended_stays_ended_and_a_server_does_not() -> None:
    assert trained()["spec"]["restartPolicy"] == "Never"
    job = as_job(an_inference_job("serve"))
    placement = PodPlacement("server", 0, 0, 1, "node-1", "nvidia.com/gpu", 1)
    assert pod_manifest(job, placement)["spec"]["restartPolicy"] == "Always"


def test_the_priority_of_the_job_is_that_of_its_pods() -> None:
    assert trained(priorityClassName="urgent")["spec"]["priorityClassName"] == "urgent"
    assert "priorityClassName" not in trained()["spec"]


def test_pods_of_a_replica_of_several_have_their_rank_in_their_names() -> None:
    job = as_job(an_inference_job("serve", gpus=2, role={"podsPerReplica": 2}))
    assert isinstance(job, InferenceJob)
    placements = [
        PodPlacement("server", 3, rank, 1, "node-1", "nvidia.com/gpu", 1) for rank in range(2)
    ]
    pods = [pod_manifest(job, placement) for placement in placements]
    assert [pod["metadata"]["name"] for pod in pods] == ["serve-server-3-0", "serve-server-3-1"]
    assert environment(pods[1])["PLIMSOLL_RANK"] == "1"


def test_the_service_finds_just_the_jobs_own_workers_even_before_they_are_ready() -> None:
    job = as_job(a_training_job("train", workers=2))
    assert isinstance(job, TrainingJob)
    service = service_manifest(job)
    labels = pod_manifest(job, PLACEMENT, Gang({"worker": 2}))["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["selector"] == {"plimsoll.dev/job-uid": "uid-TrainingJob-train"}
    assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == (
        "None",
        True,
    )


def test_workers_learn_their_batch_where_they_have_one() -> None:
    job = as_job(a_training_job("train", workers=2))
    batch = PlacedBatch(size=96, local=16, accumulation=3)
    env = environment(pod_manifest(job, PLACEMENT, Gang({"worker": 2}, batch)))
    names = ("PLIMSOLL_GLOBAL_BATCH", "PLIMSOLL_LOCAL_BATCH", "PLIMSOLL_ACCUMULATION")
    assert [env[name] for name in names] == ["96", "16", "3"]
    assert not {*names} & {*environment(pod_manifest(job, PLACEMENT, Gang({"worker": 2})))}


def test_cluster_autoscaler_neither_evicts_a_worker_nor_makes_a_node_for_it() -> None:
    where = replace(PLACEMENT, autoscaled=("h100", "queued.example.com"))
    pod = pod_manifest(as_job(a_training_job("train", gpus=4)), where)
    ours = {
        "autoscaling.x-k8s.io/consume-provisioning-request": "h100",
        "autoscaling.x-k8s.io/provisioning-class-name": "queued.example.com",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    }
    assert pod["metadata"]["annotations"] == ours
    assert not trained()["metadata"]["annotations"]
    template = a_template()
    own = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true", "example.com/a": "b"}
    template["metadata"]["annotations"] = own
    pod = pod_manifest(as_job(a_training_job("train", gpus=4, template=template)), where)
    assert pod["metadata"]["annotations"] == ours | own


def test_karpenter_moves_no_worker_to_save_a_node() -> None:
    where = replace(PLACEMENT, consolidated=True)
    pod = pod_manifest(as_job(a_training_job("train", gpus=4)), where)
    assert pod["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    serving = PodPlacement("server", 0, 0, 1, "node-1", "nvidia.com/gpu", 1, consolidated=True)
    assert not pod_manifest(as_job(an_inference_job("serve")), serving)["metadata"]["annotations"]


def test_a_replica_may_be_evicted() -> None:
    job = as_job(an_inference_job("serve"))
    where = PodPlacement("server", 0, 0, 1, "node-1", "nvidia.com/gpu", 1, ("l4", "class"))
    notes = pod_manifest(job, where)["metadata"]["annotations"]
    assert "cluster-autoscaler.kubernetes.io/safe-to-evict" not in notes
