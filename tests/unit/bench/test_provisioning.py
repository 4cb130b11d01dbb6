"""The day on bought nodes, Karpenter's rule and the bound on small recordings."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll.observe.nodes.orders import Way
from plimsoll_bench.day.scene import Submitted
from plimsoll_bench.day.services import SERVICES
from plimsoll_bench.provisioning.bound import bound_dollars
from plimsoll_bench.provisioning.figures import of_day
from plimsoll_bench.provisioning.karpenter import Karpenter, Terms
from plimsoll_bench.provisioning.market import BOOT_SECONDS, PRICES, sources
from plimsoll_bench.provisioning.scene import Scene
from plimsoll_bench.provisioning.speeds import parts_of
from plimsoll_simulator.programs.request_rate import in_steps
from plimsoll_simulator.programs.serving import TrueService
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.recorded.recording import Application, Arrival, applications_in
from plimsoll_simulator.story import Lived, told
from plimsoll_simulator.twin import TwinTerms
from support.problems.recorded_day import recorded_day
from support.programs.recorded_training import write_recording

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "provisioning.py"
SPEEDS = {"aws": 1.0, "rtx": 1.5, "dgx-ext": 3.0}
HOUR = 3600.0
TURNS_SECONDS = 40.0
NEVER: Sequence[bool] = [False]
ALWAYS: Sequence[bool] = [True]
RULES = Terms(consolidate_after=60.0)


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    folder = write_recording(tmp_path_factory.mktemp("recorded"), speeds=SPEEDS)
    return applications_in(folder, SPEEDS)["cifar10"]


def a_scene(
    application: Application,
    gangs: Sequence[tuple[float, int]],
    *,
    spot: Mapping[str, Sequence[bool]] | None = None,
    rate: float = 0.0,
) -> Scene:
    """Half an hour with gangs of these sizes submitted at these seconds."""
    jobs = [
        Submitted(Arrival(f"job-{place}", at, "cifar10", 256), gpus)
        for place, (at, gpus) in enumerate(gangs)
    ]
    answers = {"chat": {"aws": 1.0, "dgx-ext": 2.0}, "code": {"dgx-ext": 1.0}}
    services = {
        each: TrueService(in_steps([rate] * 60), answers[each.name], start_seconds=5)
        for each in SERVICES[: 2 if rate else 0]
    }
    known = sources({kind: [there] for kind, there in (spot or {}).items()})
    return Scene({"cifar10": application}, jobs, services, known, HOUR / 2, 0.5)


def by_karpenter(scene: Scene, terms: Terms = RULES) -> Lived:
    twin_terms = TwinTerms(operate=lambda twin: Karpenter(twin, scene.sources, terms).operate())
    return told(scene.submissions({}), scene.meanwhile(), terms=twin_terms)


def by_operator(scene: Scene) -> Lived:
    terms = TwinTerms()
    terms = replace(terms, loop=replace(terms.loop, ways=frozenset({Way.NODE_CLAIM})))
    return told(scene.submissions({}), scene.meanwhile(), terms=terms)


def bought(lived: Lived) -> list[str]:
    return [each.offering.name for each in sorted(lived.rentals, key=lambda each: each.begins)]


def started(run: Run) -> float:
    assert run.account.started is not None
    return run.account.started


def test_a_gang_gets_the_nodes_that_cost_least_an_hour_and_starts_once_all_are_there(
    application: Application,
) -> None:
    lived = by_karpenter(a_scene(application, [(60, 6)]))
    assert bought(lived) == ["rtx"]
    [run] = lived.runs
    assert 0 < started(run) - 60 - BOOT_SECONDS["rtx"] < TURNS_SECONDS
    on_spot = by_karpenter(a_scene(application, [(60, 6)], spot={"aws": ALWAYS}))
    assert bought(on_spot) == ["aws-spot-a"] * 2


def test_what_cannot_be_had_is_had_elsewhere(application: Application) -> None:
    lived = by_karpenter(a_scene(application, [(60, 4)], spot={"aws": NEVER}))
    assert bought(lived) == ["aws"]
    assert started(lived.runs[0]) - 60 - BOOT_SECONDS["aws"] < 2 * TURNS_SECONDS


def test_free_gpus_come_before_new_nodes_and_empty_nodes_go(application: Application) -> None:
    lived = by_karpenter(a_scene(application, [(60, 6), (70, 2), (3000, 6)]))
    first, second, third = lived.runs
    assert bought(lived) == ["rtx", "rtx"]
    assert started(second) == pytest.approx(started(first), abs=TURNS_SECONDS)
    assert started(third) > 3000 + BOOT_SECONDS["rtx"]
    ends = lived.rentals[0].ends
    assert ends is not None
    last = max(run.account.completed or 0.0 for run in (first, second))
    assert 60 <= ends - last <= 60 + TURNS_SECONDS


def test_a_gang_whose_node_is_taken_waits_anew(application: Application) -> None:
    gone = [True, False, False]
    lived = by_karpenter(a_scene(application, [(250, 4)], spot={"aws": gone}))
    [run] = lived.runs
    assert bought(lived) == ["aws-spot-a", "aws"]
    assert run.account.starts == 2
    assert run.account.lost_gpu_seconds > 0


def test_an_owner_may_choose_where_all_the_work_costs_least(application: Application) -> None:
    gang = [(60.0, 4)]
    assert bought(by_karpenter(a_scene(application, gang))) == ["aws"]
    chosen = by_karpenter(a_scene(application, gang), Terms(owner_chooses=True))
    assert bought(chosen) == ["rtx"]


def test_services_are_on_demand_and_their_nodes_go_with_them(application: Application) -> None:
    spot = dict.fromkeys(PRICES, ALWAYS)
    lived = by_karpenter(a_scene(application, [(60, 1)], spot=spot, rate=2.0))
    training = {run.name for run in lived.runs}
    nodes = {stay.node.rpartition("-")[0] for stay in lived.stays if stay.job not in training}
    assert nodes == {"aws", "dgx-ext"}
    assert all(each.answered > 0.7 * each.came for each in lived.services)
    assert all(each.came == pytest.approx(2.0 * HOUR / 2) for each in lived.services)


def test_of_what_is_paid_for_nothing_is_counted_twice(application: Application) -> None:
    lived = by_karpenter(a_scene(application, [(60, 6), (600, 3)], rate=1.0))
    found = of_day(lived)
    held = sum(stay.gpu_seconds for stay in lived.stays) / HOUR
    there = sum(
        each.offering.gpus * ((each.ends or lived.seconds) - each.ready) / HOUR
        for each in lived.rentals
        if each.ready is not None
    )
    assert found.idle_gpu_hours == pytest.approx(there - held)
    assert 0 < found.booting_node_hours < found.node_hours
    assert 0 < found.idle_node_hours < found.node_hours - found.booting_node_hours
    assert found.dollars == pytest.approx(sum(found.dollars_by_offering.values()))


def test_the_bound_of_a_job_is_its_work_at_the_cheapest_and_no_day_pays_less(
    application: Application,
) -> None:
    scene = a_scene(application, [(60, 1)])
    lived = by_operator(scene)
    [run] = lived.runs
    parts, least = parts_of(application), application.habits.restart_seconds * PRICES["rtx"]
    for part in parts:
        least += part.seconds * min(PRICES[w.gpu_type] * w.gpus / w.rate for w in part.ways)
    found = bound_dollars(lived, scene.sources)
    assert run.account.completed is not None
    assert found >= least / HOUR * 0.999
    assert found < of_day(lived).dollars


def test_a_job_is_bounded_by_the_fewest_gpus_that_it_runs_with(application: Application) -> None:
    alone, gang = parts_of(application), parts_of(application, least=6)
    assert [part.seconds for part in gang] == [part.seconds for part in alone]
    assert min(way.gpus for part in alone for way in part.ways) == 1
    assert min(way.gpus for part in gang for way in part.ways) == 6
    scene = a_scene(application, [(60, 8)])
    lived = by_operator(scene)
    [run] = lived.runs
    assert run.job.spec.workers.min == 4
    workers = run.job.spec.workers.model_copy(update={"min": 1})
    spec = run.job.spec.model_copy(update={"workers": workers})
    smaller = replace(run, job=run.job.model_copy(update={"spec": spec}))
    anything = bound_dollars(replace(lived, runs=[smaller]), scene.sources)
    assert anything < 0.95 * bound_dollars(lived, scene.sources)


@pytest.mark.parametrize("rate", [0.0, 2.0])
def test_the_bound_is_below_what_either_pays(application: Application, rate: float) -> None:
    scene = a_scene(application, [(60, 6), (60, 2), (600, 8)], spot={"rtx": ALWAYS}, rate=rate)
    for lived in (by_operator(scene), by_karpenter(scene)):
        assert 0 < bound_dollars(lived, scene.sources) < of_day(lived).dollars


def test_a_service_is_bounded_by_a_whole_node_while_it_answers(application: Application) -> None:
    scene = a_scene(application, [(60, 1)], rate=0.5)
    lived = by_karpenter(scene)
    without = bound_dollars(replace(lived, services=()), scene.sources)
    [chat, code] = lived.services
    nodes = code.answered / code.came * 8 * PRICES["dgx-ext"] / 2
    assert bound_dollars(lived, scene.sources) >= 0.99 * nodes
    assert without < bound_dollars(replace(lived, services=[chat]), scene.sources)


def _command(paths: Mapping[str, Path], *more: str) -> list[str]:
    return [
        *(sys.executable, str(BENCH), "--profiles", str(paths["profiles"])),
        *("--workload", str(paths["workload"]), "--rates", str(paths["rates"])),
        *("--characterization", str(paths["rows"]), "--series", *[str(paths["series"])] * 6),
        *("--day", "1", "--hours", "1", "--json", *more),
    ]


def test_the_program_prints_what_everybody_pays(tmp_path: Path) -> None:
    paths = recorded_day(tmp_path, SPEEDS)
    command = _command(paths, "--processes", "2")
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(ended.stdout)
    ours, rivals = figures["plimsoll"], [figures[name] for name in _RIVALS]
    assert figures["dollars"] == ours["dollars"]
    assert figures["karpenter_dollars"] == min(each["dollars"] for each in rivals)
    assert figures["ratio_to_karpenter"] == ours["dollars"] / figures["karpenter_dollars"]
    assert figures["ratio_to_bound"] == ours["dollars"] / figures["bound_dollars"] > 1
    for each in (ours, *rivals):
        assert each["jobs"] == 3
        assert each["useful_training_gpu_hours"] == pytest.approx(
            ours["useful_training_gpu_hours"], rel=1e-3
        )
        assert 0 < each["waiting_p50_s"] <= each["waiting_p95_s"]
        assert 0 < each["unserved_fraction"] < 0.5


_RIVALS = ("karpenter", "karpenter_owner_chooses")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("rates", "m-mid,600,6", "m-mid,600,nan", "rate_rps"),
        ("workload", "cifar10,2,", "cifar10,0,", "num_replicas"),
        ("series", "600", "300", "ticks are not of 600 s"),
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


def test_a_day_without_jobs_ends_it(tmp_path: Path) -> None:
    command = _command(recorded_day(tmp_path, SPEEDS), "--hours", "0.01")
    ended: Any = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no job comes within 0.01 hours: raise --hours" in ended.stderr
