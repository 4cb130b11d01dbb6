"""Who may see what: the API server decides, and nothing else is ever shown."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import RACK, fake_node
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.waiting import wait_until
from support.clusters.console_users import CLUSTER_OBJECTS, JOBS, NODES, Asking, MakeUser, a_gang
from support.clusters.scene import Scene
from support.clusters.tenants import beside
from support.objects.manifests import edited, gpu_pool, job_queue

VIEWS = ("cluster", "map", "queue", "queues", "jobs", "power", "history", "me")
SECONDS = 30
SECRET_JOB = "secret-merger"
SECRET_NODE = "node-of-the-others"


@pytest.fixture
def others(scene: Scene) -> Iterator[Scene]:
    """Another tenant, whose jobs hold a node of their own, and wait."""
    with beside(scene, "others") as others:
        yield others


@pytest.fixture
def cluster(scene: Scene, others: Scene) -> Scene:
    """Two nodes, one full of the others' job; ours runs on the other; one of each waits."""
    scene.add_nodes(
        fake_node("node-of-ours", labels={RACK: "rack-of-ours"}, gpus=2),
        fake_node(SECRET_NODE, labels={RACK: "rack-of-others"}, gpus=8),
    )
    racks = {"spec.topologyKeys": [{"name": "rack", "label": RACK}]}
    scene.apply(job_queue(), edited(gpu_pool(), racks))
    theirs, ours = a_gang(SECRET_JOB, workers=1, gpus=8), a_gang("train", workers=1, gpus=2)
    others.apply(theirs)
    others.running(theirs)
    scene.apply(ours)
    scene.running(ours)
    waits = [(scene, a_gang("later", workers=4)), (others, a_gang("secret-plan", workers=3))]
    for where, job in waits:
        where.apply(job)
        where.until(job, reason="InsufficientGPUs")
    return scene


def seen_by(user: Asking, path: str, holds: Callable[[Any], bool]) -> Any:  # noqa: ANN401 - any JSON
    """What a user sees once it is as said: the console may be a second behind."""

    def found() -> Any:  # noqa: ANN401 - any JSON
        said = user.seen(path)
        return said if holds(said) else None

    return wait_until(found, timeout_seconds=SECONDS, what=f"{path} shows it")


def names(jobs: list[dict[str, Any]]) -> set[str]:
    return {job["key"]["name"] for job in jobs}


def test_who_may_see_all_sees_all(cluster: Scene, others: Scene, a_user: MakeUser) -> None:
    del cluster
    admin = a_user([JOBS, NODES, CLUSTER_OBJECTS])
    line = seen_by(admin, "queue", lambda said: len(said["jobs"]) == 2)
    assert names(line["jobs"]) == {"later", "secret-plan"}
    assert line["others"] == 0
    drawn = seen_by(admin, "map", lambda said: len(said["jobs"]) == 2)
    assert names(drawn["jobs"]) == {"train", SECRET_JOB}
    nodes = {node["name"]: node for group in drawn["groups"] for node in group["nodes"]}
    assert set(nodes) == {"node-of-ours", SECRET_NODE}
    held = [piece for cell in nodes[SECRET_NODE]["cells"] for piece in cell["holdings"]]
    assert [drawn["jobs"][piece["job"]]["key"]["name"] for piece in held] == [SECRET_JOB] * 8
    assert [each["name"] for each in admin.seen("queues")["queues"]] == ["research"]
    status, detail = admin.get(f"jobs/TrainingJob/{others.namespace}/{SECRET_JOB}")
    assert (status, detail["state"]) == (200, "Running")
    assert {event["what"] for event in detail["life"]} >= {"Created", "Admitted", "Started"}


def test_who_may_see_one_namespace_sees_that_and_how_much_others_take(
    cluster: Scene, others: Scene, a_user: MakeUser
) -> None:
    user = a_user(here=[JOBS])
    line = seen_by(user, "queue", lambda said: (len(said["jobs"]), said["others"]) == (1, 1))
    assert names(line["jobs"]) == {"later"}
    assert line["othersMilli"] == 3000
    drawn = seen_by(user, "map", lambda said: len(said["jobs"]) == 1)
    cells = [cell for group in drawn["groups"] for node in group["nodes"] for cell in node["cells"]]
    pieces = [piece for cell in cells for piece in cell["holdings"]]
    assert sum(piece["milli"] for piece in pieces if piece["by"] == "taken") == 8000
    assert sum(piece["milli"] for piece in pieces if piece["by"] == "job") == 2000
    own = f"jobs/TrainingJob/{cluster.namespace}/train"
    assert user.seen(own)["places"][0]["node"] == "node-of-ours"
    said = user.all_text(*VIEWS, own, f"jobs/TrainingJob/{cluster.namespace}/later")
    hidden = (SECRET_JOB, "secret-plan", others.namespace, SECRET_NODE, "rack-of-others")
    assert [name for name in hidden if name in said] == []


def test_who_may_see_nothing_sees_no_name(cluster: Scene, others: Scene, a_user: MakeUser) -> None:
    nobody = a_user()
    drawn = seen_by(nobody, "map", lambda said: len(said["groups"]) == 2)
    assert drawn["jobs"] == []
    said = nobody.all_text(*VIEWS)
    own = f"system:serviceaccounts:{cluster.namespace}", f"{cluster.namespace}:{nobody.name}"
    for name in own:
        said = said.replace(name, "")
    kept = (cluster.namespace, others.namespace, "node-of", "rack-of")
    hidden = (SECRET_JOB, '"train"', '"later"', "secret-plan", "research", *kept)
    assert [name for name in hidden if name in said] == []


def test_a_job_that_may_not_be_seen_is_as_one_that_does_not_exist(
    cluster: Scene, others: Scene, a_user: MakeUser
) -> None:
    user = a_user(here=[JOBS])
    seen_by(user, "queue", lambda said: said["others"] == 1)
    there = user.get(f"jobs/TrainingJob/{others.namespace}/{SECRET_JOB}")
    missing = user.get(f"jobs/TrainingJob/{others.namespace}/{'x' * len(SECRET_JOB)}")
    assert there[0] == missing[0] == 404
    hidden = there[1]["problems"][0].replace(SECRET_JOB, "x" * len(SECRET_JOB))
    assert hidden == missing[1]["problems"][0]
    for path in (
        f"TrainingJob/{others.namespace}/{SECRET_JOB}",
        f"jobs//TrainingJob/{others.namespace}/{SECRET_JOB}",
        f"jobs/TrainingJob/{cluster.namespace}/../{others.namespace}/{SECRET_JOB}",
        f"jobs/TrainingJob/{cluster.namespace}%2f..%2f{others.namespace}/{SECRET_JOB}",
    ):
        assert user.get(path)[0] == 404, path


def test_one_job_may_be_seen_by_a_right_to_get_it_by_name(cluster: Scene, a_user: MakeUser) -> None:
    rule = {"apiGroups": ["plimsoll.dev"], "resources": ["trainingjobs"], "verbs": ["get"]}
    user = a_user(here=[{**rule, "resourceNames": ["train"]}])
    wait_until(
        lambda: (
            user.get(f"jobs/TrainingJob/{cluster.namespace}/train")[1].get("state") == "Running"
        ),
        timeout_seconds=SECONDS,
        what="the job is seen, a second later at most",
    )
    assert user.get(f"jobs/TrainingJob/{cluster.namespace}/later")[0] == 404
    assert user.seen("jobs")["jobs"] == []


def foreign(api: ApiServer, user: Asking, audience: str) -> str:
    path = f"/api/v1/namespaces/{user.namespace}/serviceaccounts/{user.name}/token"
    return api.create(path, {"spec": {"audiences": [audience]}})["status"]["token"]


def altered(token: str, **claims: object) -> str:
    """A token with other claims under the same signature."""
    head, body, signature = token.split(".")
    said = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    said.update(claims)
    other = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
    return f"{head}.{other}.{signature}"


def test_a_token_that_is_not_valid_learns_nothing(
    scene: Scene, api: ApiServer, console: ConsoleProcess, a_user: MakeUser
) -> None:
    user = a_user([JOBS, NODES, CLUSTER_OBJECTS])
    for path in (
        *VIEWS,
        "nonsense",
        f"jobs/TrainingJob/{scene.namespace}/train",
        "events?view=map",
    ):
        assert console.get(f"/api/v1/{path}", None)[0] == 401, path
    tokens = {
        "expired": altered(user.token, exp=1_000_000_000),
        "another user's": altered(user.token, sub="system:serviceaccount:kube-system:default"),
        "for another audience": foreign(api, user, "vault"),
        "junk": "junk",
        "too long": "a" * 20_000,
    }
    for what, token in tokens.items():
        status, said = console.get("/api/v1/map", token)
        assert status == 401, what
        assert list(said) == ["problems"]
    assert user.get("map")[0] == 200


@pytest.mark.slow
def test_the_token_of_a_deleted_account_is_soon_refused(api: ApiServer, a_user: MakeUser) -> None:
    user = a_user([JOBS])
    assert user.get("jobs")[0] == 200
    api.delete(f"/api/v1/namespaces/{user.namespace}/serviceaccounts/{user.name}")
    wait_until(lambda: user.get("jobs")[0] == 401, timeout_seconds=SECONDS, what="it is refused")


@pytest.mark.slow
def test_a_right_that_is_withdrawn_is_soon_gone(
    cluster: Scene, api: ApiServer, a_user: MakeUser
) -> None:
    user = a_user(here=[JOBS])
    seen_by(user, "jobs", lambda said: names(said["jobs"]) == {"train", "later"})
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{cluster.namespace}/rolebindings"
    api.delete(f"{roles}/{user.name}")
    seen_by(user, "jobs", lambda said: said["jobs"] == [])
    assert user.get(f"jobs/TrainingJob/{cluster.namespace}/train")[0] == 404
