"""Files of jobs and of node events: what is wrong with them is told by line and column."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from plimsoll.api.model import wire_name
from plimsoll.errors import BadInput
from plimsoll_simulator.trace.jobs import TracedJob, traced_jobs
from plimsoll_simulator.trace.node_events import node_events


def a_file(folder: Path, text: str) -> Path:
    file = folder / "rows.csv"
    file.write_text(text, encoding="utf-8")
    return file


def the_job(folder: Path, columns: str, cells: str) -> TracedJob:
    (row,) = traced_jobs(a_file(folder, f"submitted,gpus,hours{columns}\n0,8,2{cells}\n"))
    return row.content


def test_a_job_needs_no_more_than_its_time_gpus_and_hours(tmp_path: Path) -> None:
    (row,) = traced_jobs(a_file(tmp_path, "submitted,gpus,hours\n60,8,1.5\n"))
    assert (row.line, row.content.submitted, row.content.gpus) == (2, 60.0, 8)
    assert row.content.hours == Decimal("1.5")
    assert row.content.sizes == (8,)


def test_empty_cells_say_nothing(tmp_path: Path) -> None:
    job = the_job(tmp_path, ",name,maxGPUs,spot", ",,,")
    assert (job.name, job.sizes, job.spot) == (None, (8,), False)


def test_times_may_be_times_of_day(tmp_path: Path) -> None:
    (row,) = traced_jobs(a_file(tmp_path, "submitted,gpus,hours\n2026-01-31T08:00:00Z,1,1\n"))
    assert row.content.submitted == datetime(2026, 1, 31, 8, tzinfo=UTC)


def test_types_have_a_speed_of_one_unless_they_name_another(tmp_path: Path) -> None:
    job = the_job(tmp_path, ",gpuTypes", ",A100 H100=2.2")
    assert job.gpu_types == {"A100": Decimal(1), "H100": Decimal("2.2")}
    assert [*job.gpu_types] == ["A100", "H100"]


@pytest.mark.parametrize(
    ("least", "most", "sizes"),
    [("", "", (8,)), ("2", "", (2, 4, 8)), ("", "32", (8, 16, 32)), ("3", "20", (3, 4, 8, 16, 20))],
)
def test_sizes_are_halved_and_doubled_up_to_the_limits(
    least: str, most: str, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    assert the_job(tmp_path, ",minGPUs,maxGPUs", f",{least},{most}").sizes == sizes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gpus,hours\n1,1\n", "has no column 'submitted': needs submitted, gpus, hours"),
        ("submitted,gpus,hours,gpu\n", "column 'gpu' is unknown: needs submitted"),
        ("submitted,gpus,hours\n0,0,1\n", "line 2: gpus: "),
        ("submitted,gpus,hours\n0,1,0\n", "line 2: hours: must be a number above 0"),
        ("submitted,gpus,hours\n0,1,nan\n", "line 2: hours: 'nan' is not a quantity"),
        ("submitted,gpus,hours\n0,1,1\n-1,1,1\n", "line 3: submitted: must be seconds since"),
        ("submitted,gpus,hours\nnan,1,1\n", "line 2: submitted: must be seconds since"),
        ("submitted,gpus,hours\n1769846400000,1,1\n", "line 2: submitted: must be seconds since"),
        ("submitted,gpus,hours\n2026-01-31T08:00:00,1,1\n", "line 2: submitted: must be seconds"),
        ("submitted,gpus,hours\n0,1\n", "line 2: hours: "),
        ("submitted,gpus,hours\n0,1,1,1\n", "line 2: has more cells than there are columns"),
        ("submitted,gpus,hours,minGPUs\n0,4,1,8\n", "line 2: minGPUs must be at most gpus"),
        ("submitted,gpus,hours,maxGPUs\n0,4,1,2\n", "line 2: maxGPUs must be at least gpus"),
        ("submitted,gpus,hours,name\n0,4,1,Über\n", "line 2: name: "),
        ("submitted,gpus,hours,gpuTypes\n0,4,1,A=x\n", "line 2: gpuTypes"),
        (
            "submitted,gpus,hours,priority,priorityClassName\n0,4,1,1,a\n",
            "line 2: priority and priorityClassName exclude each other",
        ),
    ],
)
def test_what_is_wrong_with_jobs_is_told(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        traced_jobs(a_file(tmp_path, text))
    (told,) = refused.value.problems
    assert told.startswith(f"{tmp_path / 'rows.csv'}: {problem}")


def test_every_wrong_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        traced_jobs(a_file(tmp_path, "submitted,gpus,hours\n0,0,0\n0,1,1\n0,-1,1\n"))
    assert ["line 2" in each or "line 4" in each for each in refused.value.problems] == [True] * 3


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"submitted,gpus,hours\n\xff,1,1\n")
    with pytest.raises(BadInput, match="is no CSV in UTF-8"):
        traced_jobs(file)


def test_only_events_that_are_known_happen_to_nodes(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 2: event: "):
        node_events(a_file(tmp_path, "at,node,event\n0,a,Lost\n"))


def test_the_reference_names_every_column() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "cli.md").read_text()
    section = page.partition("## `plimsoll simulate-trace`")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {wire_name(name) for name in TracedJob.model_fields}
