import pytest

from plimsoll.observe.volumes import reach_of
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.seen import NAMESPACE, a_reading, objects_of, seen
from support.clusters.target_lives import a_targeting_job, a_workload
from support.objects.job_manifests import a_training_job, an_inference_job
from support.objects.volumes import ZONE, a_template_with_claims, a_volume

BOUND = a_volume("disk", NAMESPACE, "data", values=["a"])


@pytest.mark.parametrize(
    ("volume", "is_known"),
    [
        pytest.param(BOUND, True, id="bound, and in a zone"),
        pytest.param(a_volume("disk", NAMESPACE, "data"), False, id="reached from everywhere"),
        pytest.param(
            a_volume("disk", NAMESPACE, "data", values=["a"], phase="Released"),
            False,
            id="of a claim that is gone",
        ),
        pytest.param(a_volume("disk", "other", "data", values=["a"]), False, id="of others"),
        pytest.param(a_volume("disk", NAMESPACE, "more", values=["a"]), False, id="not mounted"),
    ],
)
def test_volumes_of_claims_that_jobs_mount_are_known_if_some_nodes_only_reach_them(
    volume: dict[str, object], *, is_known: bool
) -> None:
    job = a_training_job("j", template=a_template_with_claims("data"))
    reach = seen(fake_node("node"), job, volume).reach
    assert list(reach) == ([f"{NAMESPACE}/data"] if is_known else [])


def test_claims_of_all_roles_count() -> None:
    template = a_template_with_claims("logs")
    beside = {"name": "reader", "replicas": {"count": 1}, "template": template}
    gang = a_training_job("gang", template=a_template_with_claims("data"), roles=[beside])
    service = an_inference_job("serve", template=a_template_with_claims("weights"))
    volumes = [
        a_volume(name, NAMESPACE, name, values=["a"]) for name in ("data", "logs", "weights")
    ]
    reach = seen(fake_node("node"), gang, service, *volumes).reach
    assert sorted(reach) == [f"{NAMESPACE}/{name}" for name in ("data", "logs", "weights")]


def test_claims_of_what_jobs_target_count() -> None:
    volumes = a_template_with_claims("data")["spec"]["volumes"]
    web = a_workload(volumes=volumes)
    job = a_targeting_job(target=web)
    disk = a_volume("disk", NAMESPACE, "data", values=["a"])
    reach = seen(fake_node("node"), job, disk, targets=[a_reading(web)]).reach
    assert list(reach) == [f"{NAMESPACE}/data"]


@pytest.mark.parametrize(
    ("key", "read_as"),
    [
        ("topology.ebs.csi.aws.com/zone", ZONE),
        ("topology.gke.io/zone", ZONE),
        ("topology.disk.csi.azure.com/zone", ZONE),
        (ZONE, ZONE),
        ("kubernetes.io/hostname", "kubernetes.io/hostname"),
    ],
)
def test_zones_are_read_by_the_label_that_nodes_to_be_bought_have_too(
    key: str, read_as: str
) -> None:
    (volume,) = objects_of(a_volume("disk", NAMESPACE, "data", key=key, values=["a"])).volumes
    ((term,),) = reach_of([volume]).values()
    assert [each.key for each in term.match_expressions] == [read_as]
