"""What becomes of recorded jobs in the rounds in which Sia's rule was published."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from plimsoll_bench.elastic.figures import of_rounds
from plimsoll_bench.elastic.rounds.nodes_seen import ByNode
from plimsoll_bench.elastic.rounds.planned import Planned
from plimsoll_bench.elastic.rounds.simulation import (
    OverfullError,
    Policy,
    Rules,
    Run,
    Scene,
    simulate,
)
from plimsoll_simulator.recorded.gpu_pools import Place, Pool
from plimsoll_simulator.recorded.recording import applications_in, arrivals_in
from support.programs.recorded_training import (
    EPOCHS,
    STEPS_PER_EPOCH,
    write_recording,
    write_workload,
)

POOLS = (Pool("slow", 2, 4), Pool("fast", 1, 4))
RESTART_SECONDS, SLOWDOWN = 50, 1.8
"""Of the application that the recording is called after."""


def a_run(
    folder: Path,
    arrivals: list[float],
    policy: Policy,
    rules: Rules | None = None,
    *,
    steps_per_epoch: float = STEPS_PER_EPOCH,
) -> Run:
    profiles = write_recording(folder / "profiles", steps_per_epoch=steps_per_epoch)
    applications = applications_in(profiles, ["slow", "fast"])
    workload = arrivals_in(write_workload(folder / "workload.csv", arrivals))
    return simulate(workload, applications, POOLS, policy, rules or Rules())


def one_gpu(kind: str, node: str = "0") -> Policy:
    def policy(scene: Scene) -> Mapping[str, Place]:
        return {life.arrival.name: Place(kind, {f"{kind}-{node}": 1}) for life in scene.lives}

    return policy


def test_a_job_takes_its_steps_and_its_start_and_no_time_besides(tmp_path: Path) -> None:
    run = a_run(tmp_path, [0.0], one_gpu("slow"))
    (life,) = run.lives
    # One GPU computes a sample a millisecond here, so that no other batch beats the smallest.
    training = EPOCHS * STEPS_PER_EPOCH * 0.064 * SLOWDOWN
    expected = 60.0 + RESTART_SECONDS + training
    assert life.completed == pytest.approx(expected, rel=0.01)
    assert life.restarts == 0


def test_a_job_on_a_faster_type_is_done_sooner(tmp_path: Path) -> None:
    slow = a_run(tmp_path / "a", [0.0], one_gpu("slow"))
    fast = a_run(tmp_path / "b", [0.0], one_gpu("fast"))
    assert of_rounds(fast).mean_jct_hours < of_rounds(slow).mean_jct_hours


def test_every_change_of_place_costs_a_restart(tmp_path: Path) -> None:
    def to_and_fro(scene: Scene) -> Mapping[str, Place]:
        return one_gpu("slow", str(int(scene.seconds // 300) % 2))(scene)

    still = a_run(tmp_path / "a", [0.0], one_gpu("slow"))
    moved = a_run(tmp_path / "b", [0.0], to_and_fro)
    assert moved.lives[0].restarts > 0
    assert of_rounds(moved).mean_jct_hours > of_rounds(still).mean_jct_hours


def test_nodes_alike_make_no_difference_where_moves_are_free(tmp_path: Path) -> None:
    def to_and_fro(scene: Scene) -> Mapping[str, Place]:
        return one_gpu("slow", str(int(scene.seconds // 60) % 2))(scene)

    run = a_run(tmp_path, [0.0], to_and_fro, Rules(moves_are_free=True))
    assert run.lives[0].restarts == 0


def test_gpus_given_twice_end_the_simulation(tmp_path: Path) -> None:
    with pytest.raises(OverfullError, match="slow-0: 5 of 4"):
        a_run(tmp_path, [0.0] * 5, one_gpu("slow"))


def test_gpu_hours_are_those_of_all_stays(tmp_path: Path) -> None:
    run = a_run(tmp_path, [0.0, 30.0, 900.0], Planned(ground=ByNode()))
    of_jobs = sum(life.gpu_seconds for life in run.lives) / 3600
    assert of_jobs / 3 == pytest.approx(of_rounds(run).gpu_hours_per_job)
    held = sum((stay.ends - stay.begins) * stay.place.gpus for stay in run.stays) / 3600
    # A job holds its GPUs until the round is over in which it is done.
    assert held <= of_jobs <= held + 3 * 60 * 12 / 3600


def test_planned_jobs_grow_when_there_is_room_and_finish_sooner_than_on_one_gpu(
    tmp_path: Path,
) -> None:
    """They have some time left: growing costs a restart of 50 s, and one more to grow further."""
    steps = 4 * STEPS_PER_EPOCH
    alone = a_run(tmp_path / "a", [0.0], one_gpu("fast"), steps_per_epoch=steps)
    grown = a_run(tmp_path / "b", [0.0], Planned(ground=ByNode()), steps_per_epoch=steps)
    assert max(stay.place.gpus for stay in grown.stays) > 1
    assert of_rounds(grown).mean_jct_hours < of_rounds(alone).mean_jct_hours


def test_no_planned_job_has_more_than_twice_what_it_has_run_with(tmp_path: Path) -> None:
    run = a_run(tmp_path, [0.0, 0.0, 400.0], Planned(ground=ByNode()))
    for life in run.lives:
        had = 0
        for stay in (s for s in run.stays if s.job == life.arrival.name):
            assert stay.place.gpus <= max(1, 2 * had)
            had = max(had, stay.place.gpus)


def test_the_same_workload_has_the_same_run(tmp_path: Path) -> None:
    arrivals = sorted(Random(1).uniform(0, 900) for _ in range(6))
    first = a_run(tmp_path / "a", arrivals, Planned(ground=ByNode()))
    second = a_run(tmp_path / "b", arrivals, Planned(ground=ByNode()))
    assert first.stays == second.stays


def test_known_timings_spare_a_job_the_steps_of_its_growth(tmp_path: Path) -> None:
    learned = a_run(tmp_path / "a", [0.0], Planned(ground=ByNode()))
    known = a_run(tmp_path / "b", [0.0], Planned(ground=ByNode()), Rules(knows_timings=True))
    assert known.lives[0].restarts < learned.lives[0].restarts
