"""The stream of changes: it says what changed, and ends with the rights."""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
import urllib3

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.waiting import wait_until
from support.clusters.console_users import CLUSTER_OBJECTS, JOBS, NODES, Asking, MakeUser, a_gang
from support.clusters.scene import Scene
from support.objects.manifests import job_queue

pytestmark = pytest.mark.slow

SECONDS = 30
Event = tuple[str, dict[str, object]]


class Following:
    """What a viewer has been told so far; `ended` once the stream has."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self.events: list[Event] = []
        self.ended = threading.Event()
        self._answer = answer

    def read(self) -> None:
        """Read until the stream ends."""
        name = ""
        for line in self._lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                self.events.append((name, json.loads(line.removeprefix("data: "))))
        self.ended.set()

    def _lines(self) -> Iterator[str]:
        rest = b""
        try:
            for part in self._answer.stream(1):
                *lines, rest = (rest + part).split(b"\n")
                yield from (line.decode() for line in lines)
        except urllib3.exceptions.HTTPError:
            return  # the test has closed it

    def versions(self, view: str) -> list[object]:
        return [said["version"] for _, said in self.events if said.get("view") == view]


@contextmanager
def following(user: Asking, *views: str) -> Generator[Following]:
    path = "&".join(f"view={view}" for view in views)
    answer = urllib3.PoolManager().request(
        "GET",
        f"{user.console.url}/api/v1/events?{path}",
        headers={"Authorization": f"Bearer {user.token}"},
        preload_content=False,
        timeout=SECONDS * 3,
    )
    assert answer.status == 200
    found = Following(answer)
    reader = threading.Thread(target=found.read)
    reader.start()
    yield found
    if not found.ended.is_set():
        answer.shutdown()
    reader.join()


def test_each_view_is_told_at_once_and_then_when_it_changes(scene: Scene, a_user: MakeUser) -> None:
    scene.apply(job_queue())
    admin = a_user([JOBS, NODES, CLUSTER_OBJECTS])
    with following(admin, "map", "queue") as said:
        for view in ("map", "queue"):
            wait_until(
                lambda view=view: said.versions(view), timeout_seconds=SECONDS, what=f"{view} came"
            )
        before = len(said.versions("queue"))
        scene.apply(a_gang("waits", workers=2))
        wait_until(
            lambda: len(said.versions("queue")) > before,
            timeout_seconds=SECONDS,
            what="the queue has changed",
        )
        wait_until(
            lambda: said.versions("queue")[-1] == admin.seen("queue")["version"],
            timeout_seconds=SECONDS,
            what="the version that is told is the one that is shown",
        )
        scene.add_nodes(fake_node("new"))
        wait_until(
            lambda: len(said.versions("map")) > 1,
            timeout_seconds=SECONDS,
            what="the map has changed",
        )


def test_it_ends_when_a_right_is_withdrawn(scene: Scene, api: ApiServer, a_user: MakeUser) -> None:
    scene.apply(job_queue(), a_gang("waits", workers=2))
    user = a_user(here=[JOBS])
    wait_until(lambda: user.seen("queue")["jobs"], timeout_seconds=SECONDS, what="it waits")
    with following(user, "queue") as said:
        wait_until(lambda: said.events, timeout_seconds=SECONDS, what="it has begun")
        roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{scene.namespace}/rolebindings"
        api.delete(f"{roles}/{user.name}")
        wait_until(said.ended.is_set, timeout_seconds=SECONDS, what="it ends")
    assert said.events[-1][0] == "end"
    assert user.seen("queue")["jobs"] == []


def test_it_ends_when_the_token_is_no_longer_valid(api: ApiServer, a_user: MakeUser) -> None:
    user = a_user(here=[JOBS])
    with following(user, "queue") as said:
        wait_until(lambda: said.events, timeout_seconds=SECONDS, what="it has begun")
        api.delete(f"/api/v1/namespaces/{user.namespace}/serviceaccounts/{user.name}")
        wait_until(said.ended.is_set, timeout_seconds=SECONDS, what="it ends")
    assert said.events[-1][0] == "end"


def test_a_job_that_may_not_be_seen_has_no_events(scene: Scene, a_user: MakeUser) -> None:
    scene.apply(job_queue(), a_gang("waits", workers=2))
    admin, nobody = a_user([JOBS]), a_user()
    wait_until(lambda: admin.seen("queue")["jobs"], timeout_seconds=SECONDS, what="it waits")
    job = f"jobs/TrainingJob/{scene.namespace}/waits"
    with following(nobody, job, "queue") as said:
        wait_until(lambda: said.versions("queue"), timeout_seconds=SECONDS, what="it has begun")
    assert said.versions(job) == []
    assert nobody.get("events")[0] == 400
