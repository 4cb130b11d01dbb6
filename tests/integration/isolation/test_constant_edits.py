"""Jobs that their user edits all the time keep their places from nobody, nor plans waiting."""

import itertools
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.neighbours import placed_meanwhile, unharmed
from support.clusters.scene import Scene
from support.objects.job_manifests import a_priority_class, a_training_job

pytestmark = pytest.mark.slow

EDITORS = 12


def an_annotation(turn: int) -> Manifest:
    return {"metadata": {"annotations": {"example.com/turn": str(turn)}}}


def a_spec(turn: int) -> Manifest:
    return {"spec": {"work": {"amount": 10_000 + turn}}}


@contextmanager
def edited_all_the_time(
    scene: Scene, jobs: Sequence[Manifest], edit: Callable[[int], Manifest]
) -> Generator[None]:
    """Edit each job as often as the API server takes it."""
    over, paths = threading.Event(), [scene.path(job["kind"], _name(job)) for job in jobs]

    def edit_on(path: str) -> None:
        for turn in itertools.count():
            if over.is_set():
                return
            scene.api.merge(path, edit(turn))

    threads = [threading.Thread(target=edit_on, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _name(job: Manifest) -> str:
    name: str = job["metadata"]["name"]
    return name


@pytest.mark.parametrize("edit", [an_annotation, a_spec])
def test_jobs_that_are_edited_all_the_time_give_way_and_delay_nobody(
    scene: Scene, hostile: Scene, edit: Callable[[int], Manifest]
) -> None:
    jobs = [a_training_job(f"busy-{number}", gpus=2) for number in range(EDITORS)]
    urgent = a_training_job("urgent", gpus=2 * EDITORS, priorityClassName="urgent")
    scene.add_nodes(fake_node("full", gpus=2 * EDITORS))
    scene.apply(a_priority_class("urgent", 1000))
    hostile.apply(*jobs)
    for job in jobs:
        hostile.running(job)
    scene.add_nodes(fake_node("free", gpus=1))
    with unharmed(scene.operator), edited_all_the_time(hostile, jobs, edit):
        scene.apply(urgent)
        placed_meanwhile(scene, "beside")
        assert set(scene.running(urgent).nodes) == {"full"}
