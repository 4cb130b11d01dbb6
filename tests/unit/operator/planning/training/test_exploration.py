"""When a job looks at GPU types and sizes at which it never ran."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.training.exploration import idle_milli
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignments
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_policy, a_training_job

NODES = (fake_node("h", gpus=4), fake_node("a", gpu_type=A100, gpus=4))
HOUR = 3600
STATED = {H100: 40, A100: 38}
CHECKPOINT = {"interval": "10m", "saveSeconds": 10, "restoreSeconds": 60}


def known(name: str = "job", *, hours_left: float = 20, **fields: Any) -> Manifest:  # noqa: ANN401
    """A gang of four that has run for an hour on H100, where it is as fast as it says."""
    amount = int(40 * HOUR * (hours_left + 1))
    fields = {"checkpoint": CHECKPOINT, **fields}
    job = a_training_job(name, workers=4, rates=STATED, work={"amount": amount}, **fields)
    return at(
        job,
        *["h"] * 4,
        startedTime=(NOW - timedelta(hours=1)).isoformat(),
        progress={
            "done": 40 * HOUR,
            "rate": 40,
            "reportedTime": NOW.isoformat(),
            "lastCheckpoint": NOW.isoformat(),
        },
        expectedCompletion=(NOW + timedelta(hours=hours_left)).isoformat(),
        measured=[measured(H100, 40)],
    )


def measured(kind: str, rate: float, seconds: int = HOUR) -> Manifest:
    return {"type": kind, "workers": 4, "rate": rate, "seconds": seconds}


def placed(*manifests: Manifest, name: str = "job") -> Assignments:
    problem = plan_input_of(seen(*NODES, *manifests), ProblemBuilder()).problem
    found = {job.rpartition("/")[2]: each for job, each in solve(problem).placements.items()}
    return found[name]


def kind_of(*manifests: Manifest) -> str:
    return placed(*manifests)[0].gpu_type


@pytest.mark.parametrize("preset", ["Balanced", "Completion"])
def test_a_type_that_may_well_be_faster_is_tried_on_idle_gpus(preset: str) -> None:
    assert kind_of(a_policy(objective={"preset": preset}), known()) == A100


@pytest.mark.parametrize("seconds", [60, HOUR])
def test_a_size_that_was_tried_and_is_no_faster_is_left(seconds: int) -> None:
    job = known()
    job["status"]["measured"].append(measured(A100, 40, seconds))
    assert kind_of(job) == H100


def test_a_type_that_is_said_to_be_far_slower_is_not_tried() -> None:
    job = known()
    job["spec"]["accelerators"][1]["throughput"] = [{"workers": 4, "rate": 20}]
    assert kind_of(job) == H100


def test_nobody_looks_at_what_another_job_waits_for() -> None:
    large = a_training_job("large", workers=8, rates={A100: 8})
    assert kind_of(known(), large) == H100


def test_nobody_looks_at_what_another_job_holds() -> None:
    other = at(a_training_job("other", workers=1, rates={A100: 1}), "a", gpu_type=A100)
    jobs = plan_input_of(seen(*NODES, known(), other), ProblemBuilder()).problem.jobs
    assert idle_milli(jobs, {H100: 4000, A100: 4000}) == {H100: 0, A100: 3000}
    assert kind_of(known(), other) == H100


def test_nobody_looks_who_will_soon_be_done() -> None:
    assert kind_of(known(hours_left=1)) == H100


def test_nobody_looks_whose_work_is_not_saved() -> None:
    checkpoint = {"interval": "4h", "saveSeconds": 10, "restoreSeconds": 60}
    job = known(checkpoint=checkpoint)
    progress = job["status"]["progress"]
    progress |= {"lastCheckpoint": (NOW - timedelta(hours=1)).isoformat(), "savesOnNotice": False}
    assert kind_of(job) == H100


def test_nobody_looks_who_has_a_deadline() -> None:
    job = known()
    job["spec"]["work"]["deadline"] = (NOW + timedelta(hours=40)).isoformat()
    assert kind_of(job) == H100


def test_nobody_looks_who_does_not_know_how_fast_it_is_where_it_runs() -> None:
    job = known()
    del job["status"]["progress"]["rate"]
    assert kind_of(job) == H100


def workers_of_a_job_that_says_it_does_not_scale(*also_measured: Manifest) -> int:
    job = known()
    job["spec"]["workers"] |= {"min": 4, "max": 16}
    points = [{"workers": 4, "rate": 40}, {"workers": 8, "rate": 40}]
    job["spec"]["accelerators"] = [{"type": H100, "throughput": points}]
    job["status"]["measured"] += also_measured
    problem = plan_input_of(seen(fake_node("h", gpus=8), job), ProblemBuilder()).problem
    (found,) = solve(problem).placements.values()
    return len(found)


def test_a_job_doubles_once_to_see_whether_it_scales() -> None:
    assert workers_of_a_job_that_says_it_does_not_scale() == 8
    sizes = range(5, 9)
    seen_before = [{"type": H100, "workers": n, "rate": 40, "seconds": 60} for n in sizes]
    assert workers_of_a_job_that_says_it_does_not_scale(*seen_before) == 4


def test_each_look_makes_the_next_one_dearer() -> None:
    """Of two hours, one stop there and one back are little; five times as much is not."""
    job = known(hours_left=5)
    assert kind_of(job) == A100
    job["status"]["measured"] += [
        {"type": H100, "workers": n, "rate": 10 * n, "seconds": 60} for n in (1, 2, 3)
    ]
    assert kind_of(job) == H100
