"""Why a job waits and what would change: answered by planning, without what is others'."""

import json
from collections.abc import Iterator

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.waiting import wait_until
from support.clusters.console_users import CLUSTER_OBJECTS, JOBS, NODES, Asking, MakeUser, a_gang
from support.clusters.scene import Scene
from support.clusters.tenants import beside
from support.objects.manifests import edited, job_queue

pytestmark = pytest.mark.slow

SECONDS = 30


@pytest.fixture
def others(scene: Scene) -> Iterator[Scene]:
    """Another tenant whose job has the only node; ours waits, and matters more."""
    scene.api.apply(
        "/apis/scheduling.k8s.io/v1/priorityclasses/urgent",
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "urgent"},
            "value": 1000,
        },
    )
    scene.add_nodes(fake_node("node-of-the-others", gpus=8))
    scene.apply(job_queue())
    with beside(scene, "others") as others:
        theirs = a_gang("secret-merger", workers=8)
        others.apply(theirs)
        others.running(theirs)
        ours = a_gang("later", workers=4)
        scene.apply(ours)
        scene.until(ours, reason="InsufficientGPUs")
        yield others


def until_seen(user: Asking) -> None:
    wait_until(
        lambda: user.seen("queue")["jobs"], timeout_seconds=SECONDS, what="the job is seen to wait"
    )


def test_it_is_explained_who_would_have_to_give_way(
    scene: Scene, others: Scene, a_user: MakeUser
) -> None:
    admin = a_user([JOBS, NODES, CLUSTER_OBJECTS])
    until_seen(admin)
    asked = {"kind": "TrainingJob", "namespace": scene.namespace, "name": "later"}
    status, found = admin.post("explain", **asked)
    assert status == 200, found
    losses = found["why"]["givingWay"]["losses"]
    assert [loss["job"] for loss in losses] == [f"TrainingJob/{others.namespace}/secret-merger"]
    assert found["hidden"] == 0
    status, found = admin.post("whatif", **asked, priorityClassName="urgent")
    assert status == 200, found
    applied = found["simulation"]["applied"][0]["why"]["job"]
    assert applied["name"] == "later"
    smaller = {"roles": [{"name": "worker", "min": 1, "max": 1}], "types": ["Tesla-T4"]}
    status, found = admin.post("whatif", **asked, **smaller)
    assert status == 200, found
    assert not found["simulation"]["applied"][0]["why"]["job"]["place"]


def test_it_is_shown_when_a_job_that_waits_is_expected_to_start(
    others: Scene, a_user: MakeUser
) -> None:
    worked = edited(a_gang("secret-merger", workers=8), {"spec.work": {"amount": 100_000}})
    others.edit(worked, {"work": worked["spec"]["work"]})
    user = a_user(here=[JOBS])
    until_seen(user)
    wait_until(
        lambda: user.seen("queue")["jobs"][0]["expectedStart"],
        timeout_seconds=SECONDS * 3,
        what="the expected start is shown",
    )


def test_who_asks_learns_of_others_only_how_many_they_are(
    scene: Scene, others: Scene, a_user: MakeUser
) -> None:
    user = a_user(here=[JOBS])
    until_seen(user)
    asked = {"kind": "TrainingJob", "namespace": scene.namespace, "name": "later"}
    status, explained = user.post("explain", **asked)
    assert (status, explained["hidden"]) == (200, 1)
    assert explained["why"]["givingWay"]["losses"] == []
    status, changed = user.post("whatif", **asked, priorityClassName="urgent")
    assert status == 200
    said = json.dumps([explained, changed])
    hidden = ("secret-merger", others.namespace, "node-of-the-others")
    assert [name for name in hidden if name in said] == []


def test_jobs_that_may_not_be_seen_cannot_be_asked_about(
    scene: Scene, others: Scene, a_user: MakeUser
) -> None:
    user = a_user(here=[JOBS])
    until_seen(user)
    for path in ("explain", "whatif"):
        for name in ("secret-merger", "nothing"):
            body = {"kind": "TrainingJob", "namespace": others.namespace, "name": name}
            assert user.post(path, **body)[0] == 404
    assert scene.status(a_gang("later", workers=4))["reason"] == "InsufficientGPUs"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            {"roles": [{"name": "worker", "min": 9, "max": 2}]},
            "spec.workers: max must be at least min",
        ),
        ({"roles": [{"name": "boss", "min": 1}]}, "there is no role 'boss': use one of worker"),
        ({"roles": "many"}, "`array`"),
        ({"replicas": 3}, "unknown field `replicas`"),
    ],
    ids=["a size that cannot be", "a role that is not there", "of a wrong type", "unknown"],
)
def test_a_senseless_question_is_refused_by_the_name_of_its_field(
    scene: Scene,
    others: Scene,
    a_user: MakeUser,
    body: dict[str, object],
    problem: str,
) -> None:
    del others
    user = a_user(here=[JOBS])
    until_seen(user)
    asked = {"kind": "TrainingJob", "namespace": scene.namespace, "name": "later"}
    status, said = user.post("whatif", **asked, **body)
    assert status == 400
    assert problem in said["problems"][0]
