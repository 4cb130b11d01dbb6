"""`plimsoll simulate-trace` as users run it."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support.programs.cli_runs import run
from support.programs.recorded_training import write_recording, write_workload

POOLS = ("--pool", "slow=2x4", "--pool", "fast=1x4")


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
    assert [job["name"] for job in report["jobs"]] == ["job-0", "job-1", "job-2"]
    mean = sum(job["jct_hours"] for job in report["jobs"]) / 3
    assert report["summary"]["mean_jct_hours"] == pytest.approx(mean)
    assert all(job["gpu_hours"] > 0 for job in report["jobs"])


def test_the_table_has_a_row_for_each_job(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    lines = run(capsys, "simulate-trace", *files).out.splitlines()
    assert lines[0].split()[0] == "NAME"
    assert [line.split()[0] for line in lines[1:4]] == ["job-0", "job-1", "job-2"]


def test_the_picture_is_an_svg_with_a_bar_for_each_stay(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...], tmp_path: Path
) -> None:
    drawing = tmp_path / "runs.svg"
    assert run(capsys, "simulate-trace", *files, "--plot", str(drawing)).status == 0
    root = ET.parse(drawing).getroot()  # noqa: S314  # it is our own
    titles = {str(t.text) for t in root.iter("{http://www.w3.org/2000/svg}title")}
    assert {title.partition(":")[0] for title in titles} == {"job-0", "job-1", "job-2"}


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
