from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.observer import Observer
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.serving.replicas import wanted_replicas
from plimsoll.planning.training.stopping import restart_seconds
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Job, Role, Shape
from support.clusters.seen import NAMESPACE, NOW, at, objects_of, seen
from support.objects.job_manifests import (
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
    without_speeds,
)
from support.objects.volumes import ZONE, a_template_with_claims, a_volume

NODES = [fake_node("n-0"), fake_node("n-1"), fake_node("n-2")]
ALL = 0b111


def the_job(
    *manifests: Manifest, translator: ProblemBuilder | None = None, now: datetime = NOW
) -> Job:
    """The one job as the solver sees it."""
    snapshot = seen(*manifests, now=now)
    jobs = plan_input_of(snapshot, translator or ProblemBuilder()).problem.jobs
    assert len(jobs) == 1
    return jobs[0]


def input_of(*manifests: Manifest) -> PlanInput:
    return plan_input_of(seen(*manifests), ProblemBuilder())


def the_role(*manifests: Manifest) -> Role:
    return the_job(*manifests).roles[0]


def test_a_gang_is_what_its_spec_says() -> None:
    template = a_template({"cpu": "4", "memory": "2Gi"})
    spec = {"checkpoint": {"interval": "20m", "saveSeconds": 40, "restoreSeconds": 80}}
    job = the_job(
        *NODES,
        a_queue("team"),
        a_priority_class("high", 700),
        a_training_job(
            "gang",
            workers=(2, 4),
            gpus=2,
            allowed=(2, 4),
            rates={H100: {2: 4, 4: 8}},
            template=template,
            queue="team",
            priorityClassName="high",
            spot={"allowed": True, "maxSharePercent": 30},
            **spec,
        ),
    )
    assert (job.name, job.queue, job.priority, job.gang) == (
        "TrainingJob/team/gang",
        "team",
        700,
        True,
    )
    assert job.roles[0].shape == Shape(2000, 4000, 2 << 30)
    assert job.roles[0].counts == (2, 4)
    assert job.roles[0].yields == {H100: (4000, 8000)}
    assert (job.restart_seconds, job.checkpoint_seconds, job.spot_percent) == (120, 600, 30)


def test_a_spot_share_means_nothing_where_spot_is_not_allowed() -> None:
    assert the_job(*NODES, a_training_job("j", spot={"maxSharePercent": 80})).spot_percent == 0


def test_older_jobs_come_first() -> None:
    snapshot = seen(*NODES, a_training_job("b-older"), a_training_job("a-newer"))
    newer, older = plan_input_of(snapshot, ProblemBuilder()).problem.jobs
    assert (newer.name, older.name) == ("TrainingJob/team/a-newer", "TrainingJob/team/b-older")
    assert older.sequence < newer.sequence


def test_a_service_is_served_by_replicas_of_unlike_gpus() -> None:
    role = {"podsPerReplica": 2, "spot": {"allowed": True, "maxSharePercent": 60}}
    service = an_inference_job("s", replicas=3, gpus=2, loads={H100: 4, A100: 1}, role=role)
    job = the_job(*NODES, fake_node("a", A100), service)
    found = job.roles[0]
    assert not job.gang
    assert (found.shape.gpu_milli, found.pods_per_replica, found.mixable) == (1000, 2, True)
    assert (found.counts, found.wanted_milli) == ((1, 2, 3), 6000)
    assert found.yields == {H100: (2000,), A100: (2000,)}
    assert job.spot_percent == 60


def a_server(name: str, **fields: Any) -> Manifest:  # noqa: ANN401 - fields of a role
    one = an_inference_job("s")["spec"]["roles"][0]
    return {**one, "name": name, **fields}


def test_a_role_that_allows_no_spot_is_kept_off_it_beside_one_that_does() -> None:
    careful = a_server("careful")
    bold = a_server("bold", spot={"allowed": True, "maxSharePercent": 40})
    pool = a_pool("spot", {"kubernetes.io/hostname": "n-1"}, capacityType="Spot")
    service = an_inference_job("s", role=careful)
    service["spec"]["roles"] = [careful, bold]
    job = the_job(*NODES, pool, service)
    assert [(role.name, role.eligible) for role in job.roles] == [("careful", 0b101), ("bold", ALL)]
    assert job.spot_percent == 40


@pytest.mark.parametrize(
    ("least", "pinned", "wanted"), [(2, None, 2), (2, 3, 3), (0, None, 0), (0, 0, 0)]
)
def test_as_many_replicas_are_wanted_as_are_pinned_or_the_fewest(
    least: int, pinned: int | None, wanted: int
) -> None:
    service = an_inference_job("s", role={"replicas": {"min": least, "max": 4}})
    service["spec"]["replicas"] = pinned
    job = InferenceJob.model_validate(service)
    assert wanted_replicas(job, job.spec.roles[0], ()) == wanted


def test_the_pinned_count_is_that_of_the_first_role() -> None:
    service = an_inference_job("s")
    service["spec"] |= {"roles": [a_server("one"), a_server("two")], "replicas": 2}
    service["spec"]["roles"][0]["replicas"] = {"min": 0, "max": 2}
    job = InferenceJob.model_validate(service)
    assert [wanted_replicas(job, role, ()) for role in job.spec.roles] == [2, 1]


def test_a_role_may_run_where_its_template_admits() -> None:
    blue = fake_node("n-0", labels={"colour": "blue"})
    tainted = fake_node("n-1", taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    gpus = fake_node("n-2", taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])
    picky = a_template(nodeSelector={"colour": "blue"})
    assert the_role(blue, tainted, gpus, a_training_job("j")).eligible == 0b101
    assert the_role(blue, tainted, gpus, a_training_job("j", template=picky)).eligible == 0b001


def test_a_taint_that_came_later_drives_nobody_out() -> None:
    nodes = [fake_node("n-0", taints=[{"key": "dedicated", "effect": "NoSchedule"}]), *NODES[1:]]
    assert the_role(*nodes, at(a_training_job("j"), "n-0")).eligible == ALL


ZONES = [fake_node(f"n-{n}", labels={ZONE: zone}) for n, zone in enumerate("aab")]
DISK = a_volume("disk", NAMESPACE, "data", values=["b"])


def test_a_role_may_run_where_the_volumes_of_its_claims_can_be_reached() -> None:
    job = a_training_job("j", template=a_template_with_claims("data", "anywhere"))
    assert the_role(*ZONES, DISK, job).eligible == 0b100
    other = a_volume("other", "elsewhere", "data", values=["a"])
    assert the_role(*ZONES, other, job).eligible == ALL
    both = a_training_job("j", template=a_template_with_claims("data", "more"))
    more = a_volume("more", NAMESPACE, "more", values=["a"])
    assert input_of(*ZONES, DISK, more, both).problem.jobs == ()
    service = an_inference_job("s", template=a_template_with_claims("data"))
    assert the_role(*ZONES, DISK, service).eligible == 0b100


def test_a_claim_that_is_bound_later_counts_from_then_on() -> None:
    translator = ProblemBuilder()
    job = a_training_job("j", template=a_template_with_claims("data"))
    assert the_job(*ZONES, job, translator=translator).roles[0].eligible == ALL
    assert the_job(*ZONES, DISK, job, translator=translator).roles[0].eligible == 0b100
    assert the_job(*ZONES, job, translator=translator).roles[0].eligible == ALL


def test_it_counts_for_a_job_too_that_is_as_it_was() -> None:
    observer, translator = Observer(), ProblemBuilder()
    job = at(a_training_job("j", workers=(1, 2), template=a_template_with_claims("data")), "n-2")
    before = objects_of(*ZONES, job)
    bound = replace(before, volumes=objects_of(DISK).volumes)
    for objects, eligible in ((before, ALL), (bound, 0b100), (before, ALL)):
        problem = plan_input_of(observer.snapshot(objects, NOW), translator).problem
        assert [each.roles[0].eligible for each in problem.jobs] == [eligible]


def test_taints_and_volumes_are_no_matter_of_each_other() -> None:
    tainted = fake_node("n-3", labels={ZONE: "b"}, taints=[{"key": "a", "effect": "NoSchedule"}])
    tolerant = a_template_with_claims("data")
    tolerant["spec"]["tolerations"] = [{"key": "a", "operator": "Exists"}]
    job = a_training_job("j", template=a_template_with_claims("data"))
    assert the_role(*ZONES, tainted, DISK, job).eligible == 0b0100
    job = a_training_job("j", template=tolerant)
    assert the_role(*ZONES, tainted, DISK, job).eligible == 0b1100


def test_nodes_that_refused_the_pods_are_avoided_until_their_time_is_over() -> None:
    def waiting(**since: float) -> Manifest:
        until = (NOW + timedelta(**since)).isoformat()
        return {
            **a_training_job("j"),
            "status": {"avoidedNodes": [{"node": "n-1", "until": until}]},
        }

    assert the_role(*NODES, waiting(minutes=1)).eligible == 0b101
    assert the_role(*NODES, waiting(minutes=-1)).eligible == ALL


def test_what_runs_is_what_the_status_says() -> None:
    job = the_job(*NODES, at(a_training_job("j", workers=2), "n-1", "n-2"))
    assert [(a.replica, a.gpu_type, a.nodes) for a in job.running] == [
        (0, H100, ("n-1",)),
        (1, H100, ("n-2",)),
    ]


def lost(started: float | None, saved: float | None = None, *, seconds: int = 0) -> int:
    """Seconds that a stop costs beyond saving and restoring; started and saved minutes ago."""

    def ago(minutes: float) -> str:
        return (NOW - timedelta(minutes=minutes)).isoformat()

    status: dict[str, Any] = {}
    if started is not None:
        status["startedTime"] = ago(started)
    if saved is not None:
        status["progress"] = {"lastCheckpoint": ago(saved)}
    job = TrainingJob.model_validate(
        {**a_training_job("j", checkpoint={"interval": "10m"}), "status": status}
    )
    return restart_seconds(job, NOW + timedelta(seconds=seconds)) - 90


def test_a_stop_throws_away_what_was_done_since_the_last_save() -> None:
    assert lost(None) == 0
    assert lost(5) == 300
    assert lost(30) == 600  # at most one interval: by then it has saved
    assert lost(30, saved=2) == 120
    assert lost(1, saved=30) == 60  # saved in an earlier run


def test_the_loss_is_counted_anew_once_a_minute_and_for_all_jobs_at_once() -> None:
    assert {lost(3.5, seconds=each) for each in range(60)} == {210}
    assert {lost(3.1, seconds=each) for each in range(60)} == {186}
    assert lost(3.5, seconds=60) == 270


SCENE = [*NODES, a_pool("p", {"type": "kwok"}), a_training_job("j")]


def relabelled(node: Manifest, **labels: str) -> Manifest:
    meta = {**node["metadata"], "labels": {**node["metadata"]["labels"], **labels}}
    return {**node, "metadata": meta}


def without_gpus(node: Manifest) -> Manifest:
    """A node whose labels say what it has before its device plugin does."""
    had = node["status"]["allocatable"]
    left = {name: much for name, much in had.items() if name != "nvidia.com/gpu"}
    return {**node, "status": {**node["status"], "capacity": left, "allocatable": left}}


@pytest.mark.parametrize(
    "before",
    [
        [*SCENE[:3], a_pool("p", {"type": "kwok"}, capacityType="Spot"), SCENE[-1]],
        [*SCENE[:3], a_pool("other", {"type": "kwok"}), SCENE[-1]],
        [fake_node("n-0", L4), *SCENE[1:]],
        [relabelled(NODES[0], colour="red"), *SCENE[1:]],
        [fake_node("n-0", taints=[{"key": "t", "effect": "NoSchedule"}]), *SCENE[1:]],
        SCENE[1:],
        [*SCENE[:-1], a_training_job("j", gpus=2)],
        [*SCENE, a_training_job("another", topology={"required": "rack"})],
        [*map(without_gpus, NODES), *SCENE[3:]],
    ],
    ids=["terms", "pool", "type", "labels", "taints", "fewer", "spec", "levels", "no GPUs yet"],
)
def test_what_is_remembered_never_changes_what_is_asked(before: list[Manifest]) -> None:
    picky = a_template(nodeSelector={"colour": "red"})
    unstated = without_speeds(a_training_job("unstated"))
    now = [*SCENE, unstated, a_training_job("picky", template=picky)]
    translator = ProblemBuilder()
    if before[-1]["metadata"]["name"] == "j" and before[-1] != SCENE[-1]:
        before[-1]["metadata"]["generation"] = 0
    others = unstated, a_training_job("picky", template=picky)
    plan_input_of(seen(*before, *others), translator)
    assert plan_input_of(seen(*now), translator) == plan_input_of(seen(*now), ProblemBuilder())


def test_a_renamed_domain_is_another() -> None:
    translator = ProblemBuilder()
    for name in ("old", "new"):
        domain = a_power_domain(name, {"type": "kwok"}, budget_watts=1)
        problem = plan_input_of(seen(*NODES, domain), translator).problem
        assert [each.name for each in problem.power_domains] == [name]
