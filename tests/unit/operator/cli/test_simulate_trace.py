"""`plimsoll simulate-trace` as users run it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from plimsoll.cli.inputs.sources import described
from plimsoll_simulator.trace.jobs import traced_jobs
from plimsoll_simulator.trace.node_events import node_events
from plimsoll_simulator.trace.trace import trace as trace_of
from support.programs.cli_runs import run
from support.programs.recorded_training import write_recording, write_workload

pytestmark = pytest.mark.slow

POOLS = ("--pool", "slow=2x4", "--pool", "fast=1x4")
EXAMPLES = Path(__file__).parents[4] / "examples"
NODES = """
apiVersion: v1
kind: Node
metadata: {name: a-0, labels: {nvidia.com/gpu.product: A100}}
status: {allocatable: {cpu: "64", memory: 512Gi, nvidia.com/gpu: "8"}}
"""
JOBS = ["elastic/job-0", "elastic/job-1", "elastic/job-2"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """The options that name a small recording."""
    profiles = write_recording(tmp_path / "profiles")
    workload = write_workload(tmp_path / "workload.csv", [0.0, 100.0, 200.0])
    return "--profiles", str(profiles), "--workload", str(workload), *POOLS


def test_every_job_is_reported_and_all_together(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    ran = run(capsys, "simulate-trace", *files, "-o", "json")
    assert ran.status == 0, ran.err
    report = json.loads(ran.out)
    assert [job["name"] for job in report["jobs"]] == JOBS
    mean = sum(job["jct_hours"] for job in report["jobs"]) / 3
    assert report["summary"]["mean_jct_hours"] == pytest.approx(mean)
    assert all(job["gpu_hours"] > 0 for job in report["jobs"])


def test_the_table_has_a_row_for_each_job(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    lines = run(capsys, "simulate-trace", *files).out.splitlines()
    assert lines[0].split()[0] == "NAME"
    assert [line.split()[0] for line in lines[1:4]] == JOBS


def test_the_picture_is_an_svg_with_a_bar_for_each_stay(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...], tmp_path: Path
) -> None:
    drawing = tmp_path / "runs.svg"
    assert run(capsys, "simulate-trace", *files, "--plot", str(drawing)).status == 0
    root = ET.parse(drawing).getroot()  # noqa: S314  # it is our own
    titles = {str(t.text) for t in root.iter("{http://www.w3.org/2000/svg}title")}
    assert {title.partition(":")[0] for title in titles} == {*JOBS}


def test_a_workload_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    ran = run(capsys, "simulate-trace", *files[:2], "--workload", "/none.csv", *POOLS)
    assert (ran.status, ran.err) == (2, "plimsoll: /none.csv: No such file or directory\n")


def test_an_application_without_a_profile_is_named(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...], tmp_path: Path
) -> None:
    other = write_workload(tmp_path / "other.csv", [0.0], "ncf")
    ran = run(capsys, "simulate-trace", *files[:2], "--workload", str(other), *POOLS)
    assert ran.status == 2
    assert "has no profile of ncf" in ran.err


@pytest.mark.parametrize("pool", ["slow", "slow=2", "slow=0x4", "=2x4"])
def test_a_pool_in_another_form_is_refused(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...], pool: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "simulate-trace", *files[:4], "--pool", pool)
    assert "not of the form TYPE=NxG" in capsys.readouterr().err


def test_a_gpu_type_without_recordings_is_named(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    ran = run(capsys, "simulate-trace", *files[:4], "--pool", "h100=1x8")
    assert ran.status == 2
    assert "placements-h100.csv" in ran.err


@pytest.fixture
def trace(tmp_path: Path) -> tuple[str, ...]:
    """The options that name a small cluster and jobs."""
    (tmp_path / "cluster.yaml").write_text(NODES)
    (tmp_path / "jobs.csv").write_text("submitted,gpus,hours,name\n0,8,1,first\n60,8,1,second\n")
    (tmp_path / "nodes.csv").write_text("at,node,event\n3000,a-0,Gone\n3600,a-0,Back\n")
    return "--cluster", str(tmp_path / "cluster.yaml"), "--jobs", str(tmp_path / "jobs.csv")


def test_jobs_of_a_file_live_on_the_nodes_of_a_cluster(
    capsys: pytest.CaptureFixture[str], trace: tuple[str, ...], tmp_path: Path
) -> None:
    drawing = tmp_path / "runs.svg"
    events = ("--node-events", str(tmp_path / "nodes.csv"), "--plot", str(drawing))
    ran = run(capsys, "simulate-trace", *trace, *events, "-o", "yaml")
    assert (ran.status, ran.err) == (0, "")
    report = yaml.safe_load(ran.out)
    assert [job["name"] for job in report["jobs"]] == ["default/first", "default/second"]
    summary = report["summary"]
    assert (summary["jobs"], summary["done"]) == (2, 2)
    assert summary["lost_gpu_hours"] > 0
    held = sum(summary[key] for key in ("useful_gpu_hours", "lost_gpu_hours", "starting_gpu_hours"))
    assert held <= summary["held_gpu_hours"] <= summary["offered_gpu_hours"]
    assert "a-0" in drawing.read_text()


def a_service(name: str = "chat", role: Mapping[str, object] | None = None) -> str:
    server = {
        "name": "server",
        "replicas": {"min": 1, "max": 4},
        "gpusPerReplica": 1,
        "template": {"spec": {"containers": [{"name": "main", "image": "serve:1"}]}},
        "profiles": [{"type": "A100", "load": 2}],
    }
    manifest = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "InferenceJob",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"roles": [{**server, **(role or {})}]},
    }
    return yaml.safe_dump(manifest)


def write_requests(folder: Path, *lines: str) -> None:
    """Write how much comes to services, from when on."""
    (folder / "requests.csv").write_text("\n".join(("at,service,namespace,rate", *lines)))


@pytest.fixture
def served(trace: tuple[str, ...], tmp_path: Path) -> tuple[str, ...]:
    """The options that name the cluster, a service and how much comes to it."""
    (tmp_path / "chat.yaml").write_text(a_service())
    write_requests(tmp_path, "600,chat,team,1", "4200,chat,team,5", "7800,chat,team,0")
    return (
        *trace[:2],
        "-f",
        str(tmp_path / "chat.yaml"),
        "--requests",
        str(tmp_path / "requests.csv"),
    )


def test_services_answer_what_comes(
    capsys: pytest.CaptureFixture[str], served: tuple[str, ...]
) -> None:
    ran = run(capsys, "simulate-trace", *served, "-o", "json")
    assert (ran.status, ran.err) == (0, "")
    report = json.loads(ran.out)
    assert (report["summary"], report["jobs"]) == (None, [])
    [chat] = report["services"]
    assert chat["name"] == "team/chat"
    assert chat["requests"] == pytest.approx(6 * 3600)
    assert 90 < chat["answered_percent"] < 100
    assert chat["most_gpus"] in (3, 4)
    lines = run(capsys, "simulate-trace", *served).out.splitlines()
    assert [line.split()[0] for line in lines] == ["SERVICE", "team/chat"]


def test_services_and_jobs_share_a_cluster(
    capsys: pytest.CaptureFixture[str],
    trace: tuple[str, ...],
    served: tuple[str, ...],
    tmp_path: Path,
) -> None:
    (tmp_path / "jobs.csv").write_text("submitted,gpus,hours,name\n0,5,0.2,first\n60,5,0.2,next\n")
    write_requests(tmp_path, "600,chat,team,1", "1200,chat,team,5", "1800,chat,team,0")
    files = (*trace, *served[2:])
    report = json.loads(run(capsys, "simulate-trace", *files, "-o", "json").out)
    assert report["summary"]["done"] == 2
    held = report["summary"]["held_gpu_hours"] + report["services"][0]["gpu_hours"]
    assert held <= report["summary"]["offered_gpu_hours"]
    lines = run(capsys, "simulate-trace", *files).out.splitlines()
    assert lines[-1].split()[0] == "team/chat"


def test_each_service_has_its_own_requests(
    capsys: pytest.CaptureFixture[str], served: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "code.yaml").write_text(a_service("code"))
    with (tmp_path / "requests.csv").open("a") as lines:
        lines.write("\n600,code,team,0.5\n")
    ran = run(capsys, "simulate-trace", *served, "-f", str(tmp_path / "code.yaml"), "-o", "json")
    found = {each["name"]: each for each in json.loads(ran.out)["services"]}
    assert found["team/code"]["requests"] == pytest.approx(0.5 * 7200)
    assert found["team/code"]["most_gpus"] == 1
    assert found["team/chat"]["most_gpus"] in (3, 4)


def test_a_service_may_name_gpus_as_their_pool_does(
    capsys: pytest.CaptureFixture[str], served: tuple[str, ...], tmp_path: Path
) -> None:
    pool = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "GPUPool",
        "metadata": {"name": "large"},
        "spec": {"nodeSelector": {"nvidia.com/gpu.product": "A100"}, "gpuType": "A100-large"},
    }
    (tmp_path / "pool.yaml").write_text(yaml.safe_dump(pool))
    role = {"profiles": [{"type": "A100-large", "load": 2}]}
    (tmp_path / "chat.yaml").write_text(a_service(role=role))
    ran = run(capsys, "simulate-trace", *served, "-f", str(tmp_path / "pool.yaml"), "-o", "json")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["services"][0]["answered_percent"] > 90


def test_a_service_to_which_nothing_comes_is_left_out(
    capsys: pytest.CaptureFixture[str], trace: tuple[str, ...], served: tuple[str, ...]
) -> None:
    ran = run(capsys, "simulate-trace", *trace, *served[2:4])
    name = "InferenceJob team/chat"
    assert ran.status == 0
    assert ran.err == f"plimsoll: left out: {name}: no line of --requests names it\n"


@pytest.mark.parametrize(
    "wrong",
    [
        ("0,chat,team,-1", {}, "line 2: rate: should be greater than or equal to 0"),
        ("0,chat,team,nan", {}, "line 2: rate"),
        ("0,other,team,1", {}, "line 2: service: there is no InferenceJob team/other: add it"),
        ("0,chat,team,1\n0,chat,team,2", {}, "line 3: at: must be later than the line before"),
        ("0,chat,team,1", {"podsPerReplica": 2, "gpusPerReplica": 2}, "has several kinds of pods"),
        ("0,chat,team,1", {"gpusPerReplica": "0.5"}, "shares GPUs"),
        ("0,chat,team,1", {"profiles": [{"type": "A100"}]}, "needs a load in each of its profiles"),
    ],
)
def test_requests_that_cannot_be_simulated_are_refused(
    capsys: pytest.CaptureFixture[str],
    served: tuple[str, ...],
    tmp_path: Path,
    wrong: tuple[str, dict[str, object], str],
) -> None:
    line, role, says = wrong
    (tmp_path / "requests.csv").write_text(f"at,service,namespace,rate\n{line}\n")
    (tmp_path / "chat.yaml").write_text(a_service(role=role))
    ran = run(capsys, "simulate-trace", *served)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err


def test_a_job_that_never_ran_has_dashes(
    capsys: pytest.CaptureFixture[str], trace: tuple[str, ...]
) -> None:
    Path(trace[-1]).write_text("submitted,gpus,hours,name\n0,80,1,first\n")
    ran = run(capsys, "simulate-trace", *trace)
    assert ran.status == 0
    assert ran.out.splitlines()[1].split()[:4] == ["default/first", "0.00", "-", "-"]
    assert "inf" not in ran.out
    assert (
        json.loads(run(capsys, "simulate-trace", *trace, "-o", "json").out)["jobs"][0]["jct_hours"]
        is None
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--preset", "Fast"), "--preset: must be one of Balanced, Throughput"),
        (("--workload", "w.csv"), "--profiles and --workload need each other"),
        (("--profiles", "p", "--workload", "w.csv"), "--cluster: excludes --profiles"),
        (("--pool", "a=1x1"), "--pool: goes with --profiles"),
        (("--node-events", "/none.csv"), "/none.csv: No such file or directory"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: tuple[str, ...],
    problem: str,
    capsys: pytest.CaptureFixture[str],
    trace: tuple[str, ...],
) -> None:
    ran = run(capsys, "simulate-trace", *trace, *options)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"plimsoll: {problem}")


def test_without_jobs_there_is_nothing_to_simulate(
    capsys: pytest.CaptureFixture[str], trace: tuple[str, ...]
) -> None:
    ran = run(capsys, "simulate-trace", *trace[:2])
    assert ran.status == 2
    assert "there is no job to simulate: add some with --jobs, -f or --requests" in ran.err


def test_the_examples_fit_their_cluster() -> None:
    objects = described([str(EXAMPLES / "cluster.yaml")], [], datetime.now(UTC)).objects
    jobs = traced_jobs(EXAMPLES / "traces" / "jobs.csv")
    found = trace_of(objects, jobs, node_events(EXAMPLES / "traces" / "nodes.csv"))
    assert (found.jobs, found.left_out) == (len(jobs), {})
