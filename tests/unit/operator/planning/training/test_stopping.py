"""A change of a job that is soon done must pay back before it is done."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.problem.effort import effort_now
from plimsoll.planning.training.stopping import HORIZON_SECONDS, MOST_HORIZONS
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Job
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_priority_class, a_training_job, an_inference_job

NODE = fake_node("n-0", gpus=8)
CHECKPOINT = {"saveSeconds": 60, "restoreSeconds": 90, "interval": "10m"}
STOP = 150
LINEAR = {H100: {1: 1, 8: 8}}


def ends_in(name: str, seconds: int, assignments: int = 2, **spec: Any) -> Manifest:  # noqa: ANN401
    """An elastic job of one to eight workers that runs, has just saved, and is done then."""
    fields: dict[str, Any] = {"rates": LINEAR, "workers": (1, 8), "checkpoint": CHECKPOINT, **spec}
    job = a_training_job(name, work={"amount": 100_000}, **fields)
    return at(
        job,
        *["n-0"] * assignments,
        startedTime=(NOW - timedelta(hours=1)).isoformat(),
        progress={"done": 1, "lastCheckpoint": NOW.isoformat()},
        expectedCompletion=(NOW + timedelta(seconds=seconds)).isoformat(),
    )


def the_job(*manifests: Manifest) -> Job:
    (job,) = plan_input_of(seen(NODE, *manifests), ProblemBuilder()).problem.jobs
    return job


def planned(*manifests: Manifest, nodes: tuple[Manifest, ...] = (NODE,)) -> dict[str, list[str]]:
    """The nodes of each job by the plan."""
    plan_input = plan_input_of(seen(*nodes, *manifests), ProblemBuilder())
    return {
        name.rpartition("/")[2]: [node for assignment in assignments for node in assignment.nodes]
        for name, assignments in solve(plan_input.problem).placements.items()
    }


@pytest.mark.parametrize(("seconds", "workers"), [(7200, 8), (900, 8), (120, 2), (0, 2), (-60, 2)])
def test_a_job_grows_only_where_that_pays_before_it_is_done(seconds: int, workers: int) -> None:
    assert len(planned(ends_in("one", seconds))["one"]) == workers


@pytest.mark.parametrize(("seconds", "grows"), [(330, True), (270, False)])
def test_a_restart_pays_where_the_job_is_done_sooner_with_it(seconds: int, *, grows: bool) -> None:
    """Twice as fast, the job takes half of what is left and the restart: even at 300 s."""
    job = ends_in("one", seconds, 4, allowed=(4, 8))
    assert (len(planned(job)["one"]) == 8) is grows


def test_a_job_is_not_moved_for_a_faster_type_that_it_would_hardly_use() -> None:
    nodes = (NODE, fake_node("fast", A100, gpus=8))
    rates = {H100: {1: 1}, A100: {1: 2}}
    for seconds, node in ((3500, "fast"), (200, "n-0")):
        job = ends_in("one", seconds, 1, workers=1, rates=rates)
        assert planned(job, nodes=nodes)["one"] == [node]


def test_of_two_alike_the_one_that_would_soon_be_done_is_not_stopped() -> None:
    urgent = a_training_job("urgent", workers=4, priorityClassName="high")
    for soon, late in (("a", "b"), ("b", "a")):
        jobs = [
            ends_in(soon, 300, 4, workers=4, rates={H100: 4}),
            ends_in(late, 3500, 4, workers=4, rates={H100: 4}),
        ]
        found = planned(a_priority_class("high", 9), urgent, *jobs)
        assert set(found) == {"urgent", soon}


def test_of_two_alike_the_one_that_would_soon_be_done_does_not_shrink() -> None:
    for soon, late in (("a", "b"), ("b", "a")):
        found = planned(
            ends_in(soon, 300, 4), ends_in(late, 3500, 4), a_training_job("comes", workers=2)
        )
        assert len(found[soon]) == 4
        assert len(found[late]) == 2


def test_a_stop_counts_the_more_the_sooner_a_job_is_done() -> None:
    counts = [the_job(ends_in("one", seconds)).stop_seconds for seconds in range(3600, 0, -120)]
    assert all(below <= above for below, above in pairwise(counts))
    assert counts[0] <= 1.1 * STOP
    assert counts[-1] == MOST_HORIZONS * HORIZON_SECONDS


def test_a_stop_counts_no_more_than_so_many_hours_however_near_the_end_is() -> None:
    slow = {"saveSeconds": 3600, "restoreSeconds": 3600}
    assert the_job(ends_in("one", 1, checkpoint=slow)).stop_seconds == (
        MOST_HORIZONS * HORIZON_SECONDS
    )


def test_what_is_known_to_last_or_not_known_at_all_counts_as_it_is() -> None:
    without = at(a_training_job("one", checkpoint=CHECKPOINT), "n-0")
    for job in (ends_in("one", 7200), without):
        assert the_job(job).stop_seconds == the_job(job).restart_seconds == STOP


def test_what_was_just_placed_is_left_alone_before_it_starts_as_after() -> None:
    job = a_training_job("one", checkpoint=CHECKPOINT)
    placed = the_job(at(job, "n-0", admittedTime=NOW.isoformat()))
    started = the_job(at(job, "n-0", admittedTime=NOW.isoformat(), startedTime=NOW.isoformat()))
    assert placed.stop_seconds == started.stop_seconds > STOP


def test_the_work_that_is_reported_to_be_lost_is_what_is_lost() -> None:
    assert the_job(ends_in("one", 60)).restart_seconds == STOP


def test_that_an_end_comes_nearer_is_no_change_of_jobs() -> None:
    was, now = (
        plan_input_of(seen(NODE, ends_in("one", seconds)), ProblemBuilder()).problem
        for seconds in (1000, 500)
    )
    assert was != now
    assert effort_now(Effort(), now, was, large=0).deterministic_seconds == 0


SCENES = st.lists(
    st.tuples(st.integers(1, 4), st.integers(-100, 5000), st.booleans()), min_size=1, max_size=4
)


@pytest.mark.slow
@settings(max_examples=4 * settings().max_examples // 5, deadline=None)
@given(SCENES, st.integers(0, 3))
def test_what_was_planned_is_planned_again(
    drawn: list[tuple[int, int, bool]], waiting: int
) -> None:
    """With no other input than before, jobs that are about to end or not, nothing flaps."""
    nodes = (NODE, fake_node("n-1", gpus=8), fake_node("n-2", A100, gpus=4))
    rates = {H100: {1: 10, 8: 60}, A100: {1: 7, 8: 40}}
    jobs = [
        ends_in(f"job-{n}", seconds, least, workers=(least, 8 if elastic else least), rates=rates)
        for n, (least, seconds, elastic) in enumerate(drawn)
    ]
    # Two at most stand on one node: four times four do not fit there.
    jobs = [at(j, *_places(n, j), **_times(j)) for n, j in enumerate(jobs)]
    comes = [a_training_job(f"comes-{n}", workers=(1, 4), rates=rates) for n in range(waiting)]
    first = _plan(nodes, [*jobs, *comes])
    after = [_as_planned(job, first) for job in (*jobs, *comes)]
    assert _plan(nodes, after) == first


def _places(index: int, job: Manifest) -> list[str]:
    return [f"n-{index // 2}"] * len(job["status"]["placement"]["assignments"])


def _times(job: Manifest) -> Manifest:
    return {key: of for key, of in job["status"].items() if key not in ("placement", "revision")}


def _plan(
    nodes: tuple[Manifest, ...], jobs: list[Manifest]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The GPU type and the nodes of each job, in order."""
    plan_input = plan_input_of(seen(*nodes, *jobs), ProblemBuilder())
    return {
        name.rpartition("/")[2]: (
            assignments[0].gpu_type,
            tuple(sorted(s.nodes[0] for s in assignments)),
        )
        for name, assignments in solve(plan_input.problem).placements.items()
    }


def _as_planned(job: Manifest, plan: dict[str, tuple[str, tuple[str, ...]]]) -> Manifest:
    """The job as it runs by a plan; one that was not changed goes on as it was."""
    name = job["metadata"]["name"]
    if name not in plan:
        return {key: of for key, of in job.items() if key != "status"}
    gpu_type, nodes = plan[name]
    known = _times(job) if "status" in job else {}
    return at(job, *nodes, gpu_type=gpu_type, **known)


@pytest.mark.parametrize(("saves", "seconds"), [(None, 750), (False, 750), (True, 150)])
def test_workers_that_save_when_asked_lose_nothing(*, saves: bool | None, seconds: int) -> None:
    """It has trained for an hour since its last checkpoint, and saves every ten minutes."""
    job = ends_in("one", 10**6)
    ago = (NOW - timedelta(hours=1)).isoformat()
    job["status"]["progress"] = {"done": 1, "lastCheckpoint": ago, "savesOnNotice": saves}
    assert the_job(job).restart_seconds == seconds


@pytest.mark.parametrize(
    ("started_before", "seconds"), [(0, 900), (10, 900), (30, 300), (60, 150), (600, 150)]
)
def test_a_gang_is_the_dearer_to_change_the_more_recently_it_started(
    started_before: int, seconds: int
) -> None:
    job = ends_in("one", 10**6)
    job["status"]["startedTime"] = (NOW - timedelta(minutes=started_before)).isoformat()
    assert the_job(job).stop_seconds == pytest.approx(seconds, rel=0.06)


def _written(times: list[datetime]) -> list[str]:
    return [each.isoformat() for each in times]


@pytest.mark.parametrize(
    ("moved_before", "seconds"), [(None, 60), (1, 360), (10, 360), (30, 120), (60, 60), (600, 60)]
)
def test_a_replica_is_the_dearer_to_move_the_more_recently_its_service_was(
    moved_before: int | None, seconds: int
) -> None:
    moves = [] if moved_before is None else [NOW - timedelta(minutes=moved_before)]
    job = the_job(at(an_inference_job("serve"), "n-0", disruptionTimes=_written(moves)))
    assert job.stop_seconds == pytest.approx(seconds, rel=0.06)


def test_who_remembers_jobs_also_sees_that_a_service_was_moved() -> None:
    builder = ProblemBuilder()
    moves = _written([NOW - timedelta(minutes=1)])
    service = at(an_inference_job("serve"), "n-0", disruptionTimes=moves)
    found = [
        plan_input_of(seen(NODE, service, now=NOW + timedelta(minutes=later)), builder).problem.jobs
        for later in (0, 30, 90)
    ]
    assert [job.stop_seconds for (job,) in found] == sorted(
        {job.stop_seconds for (job,) in found}, reverse=True
    )
