"""What happens to jobs of a running cluster is told once, however often the console ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.waiting import wait_until
from support.clusters.console_users import a_gang
from support.clusters.scene import Scene
from support.objects.job_manifests import a_priority_class
from support.objects.manifests import edited, job_queue
from support.servers.event_receiver import EventReceiver, event_receiver

pytestmark = pytest.mark.slow

SECRET: Final = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
SECONDS: Final = 60


@pytest.fixture
def receiver() -> Iterator[EventReceiver]:
    with event_receiver(SECRET) as receiver:
        yield receiver


@pytest.fixture
def telling(control_plane: Cluster, receiver: EventReceiver, tmp_path: Path) -> ConsoleProcess:
    """A console that posts events, and is not started yet."""
    (tmp_path / "secret").write_text(SECRET)
    environment = {
        "PLIMSOLL_CONSOLE_LEDGER_URL": f"sqlite:///{tmp_path / 'ledger.db'}",
        "PLIMSOLL_CONSOLE_NOTIFICATIONS_URL": receiver.url,
        "PLIMSOLL_CONSOLE_NOTIFICATIONS_SECRET_FILE": str(tmp_path / "secret"),
        "PLIMSOLL_CONSOLE_NOTIFICATIONS_TYPES": "started,preempted",
        "PLIMSOLL_CONSOLE_NOTIFICATIONS_SOURCE": "/clusters/a",
    }
    return ConsoleProcess(control_plane.kubeconfig, environment)


def wait_for(receiver: EventReceiver, *expected: tuple[str, str]) -> None:
    wait_until(
        lambda: set(expected) <= set(receiver.told()),
        timeout_seconds=SECONDS,
        what=f"{expected} are told",
    )


def test_each_event_is_told_once_over_crashes_of_the_console(
    scene: Scene, telling: ConsoleProcess, receiver: EventReceiver
) -> None:
    scene.add_nodes(fake_node("node-1", gpus=2), fake_node("node-2", gpus=2))
    scene.apply(job_queue())
    subjects = {name: f"TrainingJob/{scene.namespace}/{name}" for name in ("one", "two")}
    one, two = (a_gang(name, workers=1, gpus=2) for name in subjects)
    urgent = edited(a_gang("urgent", workers=2, gpus=2), {"spec.priorityClassName": "urgent"})
    with telling as console:
        scene.apply(one)
        scene.running(one)
        wait_for(receiver, ("started", subjects["one"]))
        console.kill()
        scene.apply(two)
        scene.running(two)
        console.start()
        wait_for(receiver, ("started", subjects["two"]))
        scene.apply(a_priority_class("urgent", 1000), urgent)
        scene.running(urgent)
        preempted = [("preempted", subject) for subject in subjects.values()]
        wait_for(receiver, *preempted, ("started", f"TrainingJob/{scene.namespace}/urgent"))
        assert console.stop() == 0
    assert len(receiver.events) == len(set(receiver.told())) == 5
    assert {each["source"] for each in receiver.events} == {"/clusters/a"}
