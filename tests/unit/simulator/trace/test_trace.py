"""Traces on a small cluster: they are lived through by the operator's own code."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.inputs.sources import described
from plimsoll.clock import SYSTEM
from plimsoll.errors import BadInput
from plimsoll.observe.observer import Objects
from plimsoll.vocabulary.logs import only_errors
from plimsoll_simulator.report.figures import JobFigures, job_figures
from plimsoll_simulator.story import Lived, told
from plimsoll_simulator.trace.jobs import traced_jobs
from plimsoll_simulator.trace.node_events import node_events
from plimsoll_simulator.trace.trace import Trace, trace
from plimsoll_simulator.twin import BEGINS, Twin, TwinTerms
from support.objects.batch_jobs import a_batch_job

NODES = """
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {nvidia.com/gpu.product: %s}}
status: {allocatable: {cpu: "64", memory: 512Gi, nvidia.com/gpu: "8"}}
---
"""
SLACK_HOURS = 0.05
"""What starting and ending pods, and noticing both, may take."""


RATES = '[{"type": "H100", "throughput": [{"workers": 2, "rate": 1}]}]'


def a_cluster(folder: Path, *more: str) -> Objects:
    file = folder / "cluster.yaml"
    nodes = (("a-0", "A100"), ("a-1", "A100"), ("h-0", "H100"))
    file.write_text("".join(NODES % each for each in nodes) + "---\n".join(more))
    return described([str(file)], [], datetime.now(UTC)).objects


def a_trace(folder: Path, *jobs: str, columns: str = "", events: Sequence[str] = ()) -> Trace:
    (folder / "jobs.csv").write_text("\n".join((f"submitted,gpus,hours{columns}", *jobs)))
    (folder / "nodes.csv").write_text("\n".join(("at,node,event", *events)))
    return trace(
        a_cluster(folder),
        traced_jobs(folder / "jobs.csv"),
        node_events(folder / "nodes.csv"),
    )


def lived(found: Trace) -> Lived:
    with only_errors():
        return told(found.submissions, found.meanwhile, terms=TwinTerms(found.begins))


def the_figures(found: Trace) -> dict[str, JobFigures]:
    return {each.name.partition("/")[2]: each for each in job_figures(lived(found))}


def test_an_undisturbed_job_takes_as_long_as_it_says(tmp_path: Path) -> None:
    found = the_figures(a_trace(tmp_path, "600,8,2", columns=""))["job-2"]
    assert found.submitted_hours == pytest.approx(600 / 3600)
    assert found.waited_hours == pytest.approx(0, abs=SLACK_HOURS)
    assert found.jct_hours == pytest.approx(2, abs=SLACK_HOURS)
    assert (found.most_gpus, found.restarts, found.lost_gpu_hours) == (8, 0, 0)


def test_a_job_that_stands_for_another_controllers_runs_as_its_own(tmp_path: Path) -> None:
    said = {"work.amount": "3600", "accelerators": RATES}
    job = yaml.safe_dump(a_batch_job(workers=2, annotations=said))
    found = trace(a_cluster(tmp_path, job), (), ())
    (figures,) = job_figures(lived(found))
    assert figures.name == "default/job-train"
    assert (figures.most_gpus, figures.jct_hours) == (2, pytest.approx(1, abs=SLACK_HOURS))


def test_a_faster_type_is_chosen_and_shortens_it(tmp_path: Path) -> None:
    jobs = a_trace(tmp_path, "0,8,2,A100 H100=2", columns=",gpuTypes")
    assert the_figures(jobs)["job-2"].jct_hours == pytest.approx(1, abs=SLACK_HOURS)


def test_who_finds_no_room_waits_for_it(tmp_path: Path) -> None:
    jobs = a_trace(tmp_path, "0,8,1,H100", "60,8,1,H100", columns=",gpuTypes")
    found = the_figures(jobs)
    assert found["job-3"].waited_hours == pytest.approx(1 - 60 / 3600, abs=SLACK_HOURS)


@pytest.mark.slow
def test_who_asks_for_more_than_there_is_never_runs_and_ends_no_simulation(tmp_path: Path) -> None:
    found = the_figures(a_trace(tmp_path, "0,64,1", "0,8,1"))
    assert found["job-2"].jct_hours == found["job-2"].waited_hours == float("inf")
    assert found["job-3"].jct_hours == pytest.approx(1, abs=SLACK_HOURS)


def test_an_elastic_job_grows_into_what_is_free(tmp_path: Path) -> None:
    found = the_figures(a_trace(tmp_path, "0,8,4,16,A100", columns=",maxGPUs,gpuTypes"))["job-2"]
    assert found.most_gpus == 16
    assert found.jct_hours == pytest.approx(4 / 2**0.848, abs=2 * SLACK_HOURS)


@pytest.mark.slow
def test_with_a_node_goes_what_was_not_saved_and_it_comes_back_empty(tmp_path: Path) -> None:
    events = ("5400,h-0,Gone", "9000,h-0,Back")
    job = "0,8,2,H100,30"
    columns = ",gpuTypes,checkpointMinutes"
    found = the_figures(a_trace(tmp_path, job, columns=columns, events=events))["job-2"]
    # It saves each half hour of work, and works from its first seconds on: almost all of the third
    # half hour is lost, and an hour without the node.
    assert found.lost_gpu_hours == pytest.approx(8 * 0.5, abs=8 * SLACK_HOURS)
    assert found.jct_hours == pytest.approx(2 + 0.5 + 1, abs=2 * SLACK_HOURS)
    assert found.restarts == 1


@pytest.mark.slow
def test_a_node_that_comes_back_after_days_is_waited_for(tmp_path: Path) -> None:
    events = ("0,h-0,Gone", "180000,h-0,Back")
    found = the_figures(a_trace(tmp_path, "0,8,1,H100", columns=",gpuTypes", events=events))
    assert found["job-2"].waited_hours == pytest.approx(50, abs=SLACK_HOURS)


@pytest.mark.slow
def test_a_node_that_says_that_it_will_go_gets_nothing(tmp_path: Path) -> None:
    jobs = a_trace(
        tmp_path, "60,8,1,H100", columns=",gpuTypes", events=("0,h-0,Notice", "7200,h-0,Gone")
    )
    assert the_figures(jobs)["job-2"].waited_hours == float("inf")


def test_higher_priorities_go_first(tmp_path: Path) -> None:
    jobs = a_trace(
        tmp_path, "0,8,1,H100,", "60,8,1,H100,-5", "120,8,1,H100,7", columns=",gpuTypes,priority"
    )
    found = the_figures(jobs)
    assert found["job-4"].waited_hours < found["job-3"].waited_hours


def test_times_of_day_begin_with_the_first(tmp_path: Path) -> None:
    found = a_trace(tmp_path, "2026-01-31T09:00:00Z,1,1", "2026-01-31T08:00:00+01:00,1,1")
    assert found.begins == datetime(2026, 1, 31, 7, tzinfo=UTC)
    assert [each.seconds for each in found.submissions][-2:] == [7200.0, 0.0]


def test_a_deadline_counts_from_the_submission(tmp_path: Path) -> None:
    found = a_trace(tmp_path, "3600,1,1,5", columns=",deadlineHours")
    work: Any = lived(found).runs[0].job.spec.work
    assert (work.deadline - BEGINS).total_seconds() == 6 * 3600


@pytest.mark.parametrize(
    ("job", "columns", "problem"),
    [
        ("0,1,1,B200", ",gpuTypes", "line 2: gpuTypes: no node has B200: use of A100, H100"),
        (
            "9990-01-01T00:00:00Z,1,1,9",
            ",deadlineHours",
            "line 2: submitted: must be seconds since",
        ),
        ("0,1,1,9e20", ",deadlineHours", "line 2: deadlineHours: should be less than or equal to"),
        ("0,1,9e20,", ",deadlineHours", "line 2: hours: should be less than or equal to"),
        ("0,12,1,8", ",gpusPerWorker", "line 2: gpusPerWorker: must divide its numbers of GPUs"),
        ("0,1,1,urgent", ",priorityClassName", "line 2: priorityClassName: there is no Priority"),
    ],
)
def test_what_the_cluster_does_not_have_is_named(
    job: str, columns: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=problem):
        a_trace(tmp_path, job, columns=columns)


def test_events_of_nodes_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nodes\.csv: line 2: node: there is no node 'x'"):
        a_trace(tmp_path, "0,1,1", events=("0,x,Gone",))


def test_seconds_and_times_of_day_do_not_mix(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="use one"):
        a_trace(tmp_path, "2026-01-31T08:00:00Z,1,1", events=("0,a-0,Gone",))


def test_times_over_a_year_apart_are_taken_for_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="over a year apart"):
        a_trace(tmp_path, "1970-01-01T00:00:00Z,1,1", "2026-01-31T08:00:00Z,1,1")


def test_names_are_given_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there are several jobs default/a: rename all but one"):
        a_trace(tmp_path, "0,1,1,a", "0,1,1,b", "0,1,1,a", columns=",name")


AMD = """
apiVersion: v1
kind: Node
metadata: {name: m-0, labels: {amd.com/gpu.product-name: MI300X}}
status: {allocatable: {cpu: "64", memory: 512Gi, amd.com/gpu: "8"}}
"""


def test_gpus_of_every_make_are_used(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("submitted,gpus,hours,gpuTypes\n0,8,1,MI300X\n")
    found = the_figures(trace(a_cluster(tmp_path, AMD), traced_jobs(tmp_path / "jobs.csv")))
    assert (found["job-2"].most_gpus, found["job-2"].restarts) == (8, 0)
    assert found["job-2"].jct_hours == pytest.approx(1, abs=SLACK_HOURS)


STATED = "[{type: A100, throughput: [{workers: 1, rate: 2}]}]"
JOB = """
apiVersion: plimsoll.dev/v1alpha1
kind: TrainingJob
metadata: {name: %s, namespace: team}
spec:
  queue: theirs
  workers:
    min: 1
    gpusPerWorker: %s
    template: {spec: {containers: [{name: main, image: "own:1"}]}}
  accelerators: [{type: A100, throughput: [{workers: 1, rate: 2}]}]
  %s
"""


def test_jobs_of_the_cluster_that_have_an_end_come_first(tmp_path: Path) -> None:
    jobs = [
        JOB % ("ends", 8, "work: {amount: 7200}"),
        JOB % ("endless", 8, ""),
        JOB % ("shares", '"0.5"', "work: {amount: 7200}"),
        (JOB % ("silent", 8, "work: {amount: 7200}")).replace(STATED, "[]"),
    ]
    found = trace(a_cluster(tmp_path, *jobs))
    assert found.jobs == 1
    assert found.left_out == {
        "TrainingJob team/endless": "has no end: set spec.work",
        "TrainingJob team/shares": "shares GPUs, which the simulated nodes do not",
        "TrainingJob team/silent": (
            "does not say how fast it is: set the throughput of its spec.accelerators"
        ),
    }
    run = lived(found).runs[0]
    assert isinstance(run.job, TrainingJob)
    assert run.account.completed == pytest.approx(3600, abs=SLACK_HOURS * 3600)


def test_a_preset_replaces_the_policy(tmp_path: Path) -> None:
    policy = """
apiVersion: plimsoll.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: default}
spec: {objective: {preset: Energy}}
"""
    found = trace(a_cluster(tmp_path, policy), preset="Throughput")
    with only_errors():
        twin = Twin(SYSTEM, TwinTerms())
        for event in found.submissions:
            event.happen(twin)
    policies: list[Any] = [*twin.api.all("placementpolicies")]
    assert [raw["spec"]["objective"] for raw in policies] == [{"preset": "Throughput"}]
