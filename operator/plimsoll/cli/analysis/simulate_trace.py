"""The output of `plimsoll simulate-trace`: a recorded workload's simulation, report and plot."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from plimsoll.cli.output.table import Column, aligned
from plimsoll.errors import BadInput
from plimsoll_simulator.figures import Figures, JobFigures, figures, job_figures
from plimsoll_simulator.gpu_pools import Pool
from plimsoll_simulator.nodes_seen import ByNode
from plimsoll_simulator.picture import picture
from plimsoll_simulator.planned import Planned
from plimsoll_simulator.recording import Application, Arrival, applications_in, arrivals_in
from plimsoll_simulator.simulation import Run, simulate

_JOBS = (
    Column("NAME"),
    Column("SUBMITTED H", is_number=True),
    Column("WAITED H", is_number=True),
    Column("COMPLETED AFTER H", is_number=True),
    Column("GPU-HOURS", is_number=True),
    Column("RESTARTS", is_number=True),
    Column("MOST GPUS", is_number=True),
)
_ALL = (Column("OF ALL JOBS"), Column("", is_number=True))


def traced(options: argparse.Namespace) -> str:
    """Run the workload, plot it if asked to, and return the report. Raises BadInput."""
    pools = tuple(Pool(*pool) for pool in options.pool)
    applications, arrivals = _recorded(options.profiles, options.workload, pools)
    _require_sizes(pools, arrivals, options.workload)
    policy = Planned(declares_work=not options.undeclared_work, ground=ByNode())
    run = simulate(arrivals, applications, pools, policy)
    if options.plot is not None:
        _draw(options.plot, run, pools)
    return _report(options.output, figures(run), job_figures(run))


def _recorded(
    profiles: Path, workload: Path, pools: tuple[Pool, ...]
) -> tuple[Mapping[str, Application], tuple[Arrival, ...]]:
    try:
        applications = applications_in(profiles, [pool.gpu_type for pool in pools])
        arrivals = arrivals_in(workload)
    except OSError as error:
        raise BadInput([f"{error.filename}: {error.strerror}"]) from error
    except (KeyError, ValueError) as error:
        format_page = "docs/benchmarks/elastic-training.md"
        raise BadInput(
            [f"{profiles} or {workload}: not in the format that {format_page} describes: {error}"]
        ) from error
    unknown = sorted({arrival.application for arrival in arrivals} - set(applications))
    if unknown:
        raise BadInput([f"{profiles}: has no profile of {name}" for name in unknown])
    return applications, arrivals


def _require_sizes(pools: tuple[Pool, ...], arrivals: tuple[Arrival, ...], file: Path) -> None:
    if not arrivals:
        raise BadInput([f"{file}: has no jobs: add at least one"])
    if len({pool.gpu_type for pool in pools}) < len(pools):
        raise BadInput(["--pool: give each GPU type only once"])


def _draw(file: Path, run: Run, pools: tuple[Pool, ...]) -> None:
    try:
        file.write_text(picture(run, pools), encoding="utf-8")
    except OSError as error:
        raise BadInput([f"{file}: {error.strerror}"]) from error


def _report(output: str, of_all: Figures, jobs: tuple[JobFigures, ...]) -> str:
    report = {"summary": msgspec.to_builtins(of_all), "jobs": msgspec.to_builtins(jobs)}
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
    if output == "yaml":
        return yaml.safe_dump(report, sort_keys=False)
    return _table(of_all, jobs)


def _table(of_all: Figures, jobs: tuple[JobFigures, ...]) -> str:
    rows = [
        (
            job.name,
            f"{job.submitted_hours:.2f}",
            f"{job.waited_hours:.2f}",
            f"{job.jct_hours:.2f}",
            f"{job.gpu_hours:.2f}",
            str(job.restarts),
            str(job.most_gpus),
        )
        for job in jobs
    ]
    summary = [
        ("jobs", str(of_all.jobs)),
        ("mean completion time, h", f"{of_all.mean_jct_hours:.3f}"),
        ("99th percentile, h", f"{of_all.p99_jct_hours:.2f}"),
        ("until the last job is done, h", f"{of_all.makespan_hours:.2f}"),
        ("GPU-hours per job", f"{of_all.gpu_hours_per_job:.2f}"),
        ("restarts per job", f"{of_all.restarts_per_job:.2f}"),
    ]
    lines = [*aligned(_JOBS, rows), "", *aligned(_ALL, summary)]
    return "".join(f"{line}\n" for line in lines)
