from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.jobs.disturbance import disturbed
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.api.values.scalars import MOST_COUNTED
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Migrate, Preempt, Resize
from plimsoll.planning.cluster.pod_requests import WORKER
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, Assignments, GpuType, NodeName
from support.clusters.seen import NAMESPACE, NOW, at, seen
from support.objects.job_manifests import a_training_job, an_inference_job

NAME = JobName(f"TrainingJob/{NAMESPACE}/job")
WINNER = JobName(f"TrainingJob/{NAMESPACE}/winner")
NODE = fake_node("node", gpus=8)


def assignments(count: int) -> Assignments:
    node = (NodeName("node"),)
    return tuple(Assignment(WORKER, number, GpuType(H100), node) for number in range(count))


def resized(count: int) -> Resize:
    return Resize(NAME, assignments(count), Reason.RESIZED, "resized")


MOVED = Migrate(NAME, assignments(4), Reason.MIGRATED, "moved")
GAVE_WAY = Preempt(NAME, Reason.PREEMPTED, "makes room", (WINNER,))
NO_LONGER_FITS = Preempt(NAME, Reason.EVICTED, "no longer fits")


def counts(action: Resize | Migrate | Preempt, job: Manifest) -> bool:
    """Whether an action is one more disturbance of the job."""
    (view,) = seen(NODE, job).jobs
    return bool(disturbed(view.resource.status, view.resource, action, NOW).disruption_times)


def a_gang(*, placed_for: int | None, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A gang of four that got its place for that generation of its spec; now there is the first."""
    job = at(a_training_job("job", workers=(2, 8), **spec), *["node"] * 4)
    if placed_for is not None:
        job["status"]["placement"]["generation"] = placed_for
    return job


@pytest.mark.parametrize("action", [resized(2), resized(8), MOVED, GAVE_WAY, NO_LONGER_FITS])
@pytest.mark.parametrize("placed_for", [1, None])
def test_what_the_plan_chose_counts(
    action: Resize | Migrate | Preempt, placed_for: int | None
) -> None:
    assert counts(action, a_gang(placed_for=placed_for))


@pytest.mark.parametrize("action", [resized(8), MOVED, NO_LONGER_FITS])
def test_what_follows_from_an_edit_does_not_count(action: Resize | Migrate | Preempt) -> None:
    assert not counts(action, a_gang(placed_for=0))


@pytest.mark.parametrize("action", [resized(2), GAVE_WAY])
def test_to_give_way_counts_whatever_was_edited(action: Resize | Preempt) -> None:
    assert counts(action, a_gang(placed_for=0))


@pytest.mark.parametrize("placed_for", [0, 1, None])
@pytest.mark.parametrize("size", [3, 6])
def test_to_get_the_size_that_its_user_asks_for_does_not_count(
    size: int, placed_for: int | None
) -> None:
    job = a_gang(placed_for=placed_for)
    job["spec"]["workers"] |= {"min": size, "max": size}
    assert not counts(resized(size), job)


def test_what_a_higher_duty_demands_does_not_count() -> None:
    left = Migrate(NAME, assignments(4), Reason.NODE_LEFT, "left")
    assert not counts(left, a_gang(placed_for=1))


def test_a_service_that_its_user_edited_may_move_uncounted() -> None:
    job = at(an_inference_job("job"), "node")
    job["status"]["placement"]["generation"] = 0
    assert not counts(MOVED, job)
    job["status"]["placement"]["generation"] = 1
    assert counts(MOVED, job)


# The work that is lost


def lost(action: Resize | Migrate | Preempt, job: Manifest) -> list[tuple[str, int]]:
    (view,) = seen(NODE, job).jobs
    status = disturbed(view.resource.status, view.resource, action, NOW)
    assert isinstance(status, TrainingJobStatus)
    return [(each.time.isoformat(), each.gpu_seconds) for each in status.lost_work]


def test_what_a_change_throws_away_is_remembered_for_a_day() -> None:
    job = a_gang(placed_for=1)
    before = [(NOW - timedelta(hours=hours)).isoformat() for hours in (25, 3)]
    job["status"]["lostWork"] = [{"time": at, "gpuSeconds": 7} for at in before]
    moved = replace(MOVED, lost_gpu_seconds=2400)
    assert lost(moved, job) == [(before[1], 7), (NOW.isoformat(), 2400)]
    assert lost(MOVED, job) == [(before[1], 7)], "nothing was unsaved"
    endless = replace(MOVED, lost_gpu_seconds=10**12)
    assert lost(endless, job)[1] == (NOW.isoformat(), MOST_COUNTED)


@pytest.mark.parametrize(
    "action",
    [
        replace(MOVED, power_domain="row", lost_gpu_seconds=9),
        Migrate(NAME, assignments(4), Reason.NODE_LEFT, "left", lost_gpu_seconds=9),
    ],
)
def test_what_power_and_faults_cost_is_nobodys_choice(action: Migrate) -> None:
    assert not counts(action, a_gang(placed_for=1))
    assert lost(action, a_gang(placed_for=1)) == []
