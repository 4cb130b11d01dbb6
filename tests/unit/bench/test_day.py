"""The day and its rivals on small recordings."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from plimsoll_bench.day.figures import of_day
from plimsoll_bench.day.rivals import Rival, Rules, static_nodes
from plimsoll_bench.day.scene import Scene, Submitted, jobs_in
from plimsoll_bench.day.services import SERVICES, interpolated
from plimsoll_simulator.diary import Stay
from plimsoll_simulator.programs.request_rate import in_steps
from plimsoll_simulator.programs.serving import TrueService
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.recorded.recording import Application, Arrival, applications_in
from plimsoll_simulator.story import End, Lived, told
from plimsoll_simulator.twin import Twin, TwinTerms
from support.problems.recorded_day import recorded_day
from support.programs.recorded_training import (
    EPOCHS,
    STEPS_PER_EPOCH,
    step_seconds,
    write_recording,
    write_workload,
)

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "day.py"
SPEEDS = {"aws": 1.0, "rtx": 1.5, "dgx-ext": 3.0}
HOUR = 3600.0
SPOT_NODES = 3


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    folder = write_recording(tmp_path_factory.mktemp("recorded"), speeds=SPEEDS)
    return applications_in(folder, SPEEDS)["cifar10"]


def a_day(
    application: Application,
    rules: Rules,
    gangs: Sequence[tuple[float, int]],
    *,
    rate: float = 0.5,
    hours: float = 0.5,
) -> Lived:
    """So many hours under a rival, with gangs of these sizes submitted at these seconds."""
    jobs = [
        Submitted(Arrival(f"job-{place}", at, "cifar10", 256), gpus)
        for place, (at, gpus) in enumerate(gangs)
    ]
    answers = {"chat": {"aws": 1.0, "dgx-ext": 2.0}, "code": {"dgx-ext": 1.0}}
    services = {
        each: TrueService(in_steps([rate] * 1440), answers[each.name], start_seconds=5)
        for each in SERVICES
    }
    scene = Scene({"cifar10": application}, jobs, services, [[True] * 144] * SPOT_NODES, seed=1)

    async def operate(twin: Twin) -> None:
        await Rival(twin, rules).operate()

    events = scene.submissions("Balanced"), scene.meanwhile()
    return told(*events, terms=TwinTerms(operate=operate), end=End(seconds=hours * HOUR))


def started(run: Run) -> float:
    assert run.account.started is not None
    return run.account.started


def first_stays(lived: Lived, run: Run) -> list[Stay]:
    mine = [stay for stay in lived.stays if stay.job == run.name]
    return [stay for stay in mine if stay.begins == min(each.begins for each in mine)]


def test_a_gang_starts_whole_on_the_fastest_type_with_room(application: Application) -> None:
    lived = a_day(application, Rules(), [(60, 12), (61, 12)])
    first, second = lived.runs
    assert {stay.node.rpartition("-")[0] for stay in first_stays(lived, first)} == {"dgx-ext"}
    assert {stay.node.rpartition("-")[0] for stay in first_stays(lived, second)} == {"rtx"}
    assert sum(stay.gpus for stay in first_stays(lived, first)) == 12
    assert started(first) < 90


def test_who_finds_no_room_lets_others_pass_and_goes_first_later(application: Application) -> None:
    gangs = [(60, 14), (60, 24), (60, 20), (61, 24), (62, 2), (63, 24)]
    lived = a_day(application, Rules(), gangs)
    *_, large, small, last = lived.runs
    assert started(small) < started(large) < started(last)
    assert all(run.account.lost_gpu_seconds == 0 for run in lived.runs)


def test_only_with_priorities_the_less_important_give_way_the_youngest_first(
    application: Application,
) -> None:
    """The first and the eleventh of the day are urgent."""
    gangs = [(60.0, 7), *[(61.0 + 10 * place, 7) for place in range(9)], (145.0, 7)]
    calm, forced = (a_day(application, Rules(preempts=each), gangs) for each in (False, True))
    assert started(forced.runs[10]) < 175
    assert started(forced.runs[10]) < started(calm.runs[10])
    assert [run.account.starts for run in calm.runs] == [1] * 11
    # Of the two that run on A100s the other one is urgent.
    assert [run.account.starts for run in forced.runs] == [1, 2] + [1] * 9
    assert forced.runs[1].account.lost_gpu_seconds > 0


def test_partitions_are_crossed_by_nobody(application: Application) -> None:
    rate = in_steps([7.0])
    chat = TrueService(rate, {"aws": 1.0, "dgx-ext": 2.0})
    nodes = static_nodes([chat, TrueService(rate, {"dgx-ext": 1.0})])
    assert nodes == {"aws-0", "aws-1", "dgx-ext-0"}
    lived = a_day(application, Rules(of_services=nodes), [(60, 8), (60, 24), (60, 20), (60, 8)])
    training, serving = {run.name for run in lived.runs}, {each.name for each in lived.services}
    assert {stay.node for stay in lived.stays if stay.job in serving} <= nodes
    assert not {stay.node for stay in lived.stays if stay.job in training} & nodes


def test_the_figures_count_work_by_what_one_fast_gpu_needs(application: Application) -> None:
    lived = a_day(application, Rules(), [(60, 4)], rate=0.5)
    found, [run] = of_day(lived), lived.runs
    alone = EPOCHS * STEPS_PER_EPOCH * step_seconds(SPEEDS["dgx-ext"], 1, 64)[0]
    hours = alone * application.habits.slowdown / HOUR
    assert run.account.completed is not None
    assert found.useful_training_gpu_hours == pytest.approx(hours)
    answered = sum(each.answered / each.truth.answers["dgx-ext"] for each in lived.services)
    assert found.useful_serving_gpu_hours == pytest.approx(answered / HOUR)
    assert found.useful_gpu_hours == pytest.approx(
        found.useful_training_gpu_hours + found.useful_serving_gpu_hours
    )
    assert found.thrown_away_percent == 0
    assert 95 < found.slo_attainment_percent < 100


def _command(paths: Mapping[str, Path], *more: str) -> list[str]:
    return [
        *(sys.executable, str(BENCH), "--profiles", str(paths["profiles"])),
        *("--workload", str(paths["workload"]), "--rates", str(paths["rates"])),
        *("--characterization", str(paths["rows"]), "--series", *[str(paths["series"])] * 3),
        *("--day", "1", "--effort", "0", *more),
    ]


def test_the_program_prints_the_day_of_everybody_and_draws_it(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    command = _command(
        recorded_day(tmp_path, SPEEDS), "--pictures", str(pictures), "--processes", "2"
    )
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(ended.stdout)
    assert figures["path"] == "operator"
    names = {"first_come_first_served", "priority_preemption", "static_partitions"}
    assert figures["rivals"].keys() == names
    for each in (figures, *figures["rivals"].values()):
        assert each["jobs_done"] == 3
        assert each["useful_gpu_hours"] > 0
        assert 0 <= each["thrown_away_percent"] < 100
        assert 0 <= each["waiting_p50_h"] <= each["waiting_p95_h"]
        assert 90 < each["slo_attainment_percent"] < 100
        assert each["dollars"] > 0
    assert {path.stem for path in pictures.iterdir()} == {"plimsoll", *names}


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("rates", "m-mid,600,6", "m-mid,600,nan", "rate_rps"),
        ("rates", "m-mid,600,6", "m-mid,700,6", "m-mid needs windows at equal distances"),
        ("rows", "llama-13b,1 x A100,4,500", "llama-13b,1 x A100,4,5000", "keeps its promise on"),
        ("workload", "cifar10,2,", "cifar10,0,", "num_replicas"),
        ("workload", "cifar10", "cifar11", "has no profiles"),
        ("workload", "300.0", "86400", "time '86400' is after the day"),
        ("series", "600", "300", "ticks are not of 600 s"),
        ("series", "1, 1, 1, 0", "1", "is shorter than a day"),
    ],
)
def test_nonsense_ends_it(file: str, old: str, new: str, says: str, tmp_path: Path) -> None:
    paths = recorded_day(tmp_path, SPEEDS)
    text = paths[file].read_text()
    assert old in text
    paths[file].write_text(text.replace(old, new))
    ended = subprocess.run(_command(paths), check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_windows_are_joined_by_straight_lines() -> None:
    found = interpolated([10.0, 20.0, 10.0], window_seconds=600, step_seconds=60, begins=-600)
    assert len(found.rates) == 30
    assert found.rates[0] == 10
    assert found.rates[9:11] == pytest.approx([10 + 10 * 4.5 / 10, 10 + 10 * 5.5 / 10])
    assert max(found.rates) == pytest.approx(19.5)
    assert found.rates == found.rates[::-1]
    assert (found.times[0], found.times[-1]) == (-600, 1200)


def test_workloads_begin_eight_hours_after_one_another(tmp_path: Path) -> None:
    paths = [write_workload(tmp_path / name, [10.0, 20.0]) for name in ("a.csv", "b.csv")]
    found = [(job.arrival.name, job.arrival.seconds) for job in jobs_in(paths, ["cifar10"])]
    late = 8 * HOUR
    expected = [
        ("job-0-0h", 10),
        ("job-1-0h", 20),
        ("job-0-8h", late + 10),
        ("job-1-8h", late + 20),
    ]
    assert found == expected
