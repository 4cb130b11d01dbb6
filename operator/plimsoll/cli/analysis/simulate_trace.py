"""The output of `plimsoll simulate-trace`: what becomes of a workload on the twin, and a plot."""

import argparse
import math
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from plimsoll.cli.inputs.traces import given_trace
from plimsoll.cli.output.table import Column, aligned
from plimsoll.cli.output.writing import written
from plimsoll.errors import BadInput
from plimsoll.vocabulary.logs import only_errors
from plimsoll_simulator.report.figures import (
    Figures,
    JobFigures,
    ServiceFigures,
    figures,
    job_figures,
    service_figures,
)
from plimsoll_simulator.report.picture import picture
from plimsoll_simulator.story import Lived, Progress, told
from plimsoll_simulator.twin import TwinTerms

_JOBS = (
    Column("NAME"),
    Column("SUBMITTED H", is_number=True),
    Column("WAITED H", is_number=True),
    Column("COMPLETED AFTER H", is_number=True),
    Column("GPU-HOURS", is_number=True),
    Column("THROWN AWAY", is_number=True),
    Column("RESTARTS", is_number=True),
    Column("MOST GPUS", is_number=True),
)
_SERVICES = (
    Column("SERVICE"),
    Column("REQUESTS", is_number=True),
    Column("ANSWERED %", is_number=True),
    Column("GPU-HOURS", is_number=True),
    Column("MOST GPUS", is_number=True),
)
_ALL = (Column("OF ALL JOBS"), Column("", is_number=True))


def traced(options: argparse.Namespace) -> str:
    """Live through the trace, plot it if asked to, and return the report. Raises BadInput."""
    found = given_trace(options)
    terms = TwinTerms(found.begins, options.time_limit)
    with only_errors(), _progress(found.jobs) as progress:
        lived = told(found.submissions, found.meanwhile, terms=terms, progress=progress)
    if options.plot is not None:
        _draw(options.plot, lived)
    return _report(options.output, lived)


@contextmanager
def _progress(jobs: int) -> Generator[Callable[[Progress], None]]:
    """Show on a terminal how far the simulation is."""
    columns = (
        TextColumn("hour {task.fields[hour]:.0f}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("jobs done in"),
        TimeElapsedColumn(),
    )
    console = Console(file=sys.stderr)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=jobs, hour=0.0)
        yield lambda now: bar.update(task, completed=now.done, hour=now.seconds / 3600)


def _draw(file: Path, lived: Lived) -> None:
    try:
        file.write_text(picture(lived), encoding="utf-8")
    except OSError as error:
        raise BadInput([f"{file}: {error.strerror}"]) from error


def _report(output: str, lived: Lived) -> str:
    of_all = figures(lived) if lived.runs else None
    jobs, services = job_figures(lived), service_figures(lived)
    report: dict[str, object] = {
        "summary": msgspec.to_builtins(of_all),
        "jobs": msgspec.to_builtins(jobs),
        "services": msgspec.to_builtins(services),
    }

    def text() -> str:
        tables = [_of_jobs(jobs), _of_all(of_all)] if of_all else []
        tables += [_of_services(services)] if services else []
        return "\n".join("".join(f"{line}\n" for line in lines) for lines in tables)

    return written(report, output, text)


def _of_services(services: tuple[ServiceFigures, ...]) -> Sequence[str]:
    rows = [
        (
            service.name,
            f"{service.requests:.0f}",
            f"{service.answered_percent:.2f}",
            f"{service.gpu_hours:.2f}",
            str(service.most_gpus),
        )
        for service in services
    ]
    return aligned(_SERVICES, rows)


def _of_jobs(jobs: tuple[JobFigures, ...]) -> Sequence[str]:
    rows = [
        (
            job.name,
            f"{job.submitted_hours:.2f}",
            _finite(job.waited_hours),
            _finite(job.jct_hours),
            f"{job.gpu_hours:.2f}",
            f"{job.lost_gpu_hours:.2f}",
            str(job.restarts),
            str(job.most_gpus),
        )
        for job in jobs
    ]
    return aligned(_JOBS, rows)


def _of_all(of_all: Figures) -> Sequence[str]:
    summary = [
        ("jobs, of which completed", f"{of_all.jobs}, {of_all.done}"),
        ("mean time to completion, h", _finite(of_all.mean_jct_hours)),
        ("99th percentile, h", _finite(of_all.p99_jct_hours)),
        ("until the last is completed, h", _finite(of_all.makespan_hours)),
        ("wait, median, h", f"{of_all.waiting_p50_hours:.2f}"),
        ("wait, 95th percentile, h", f"{of_all.waiting_p95_hours:.2f}"),
        ("GPU-hours of all nodes", f"{of_all.offered_gpu_hours:.1f}"),
        ("held by pods", f"{of_all.held_gpu_hours:.1f}"),
        ("useful", f"{of_all.useful_gpu_hours:.1f}"),
        ("loading checkpoints", f"{of_all.starting_gpu_hours:.1f}"),
        ("thrown away", f"{of_all.lost_gpu_hours:.1f}"),
        ("restarts per job", f"{of_all.restarts_per_job:.2f}"),
    ]
    return aligned(_ALL, summary)


def _finite(hours: float) -> str:
    """The hours; a dash where it never came to that."""
    return "-" if math.isinf(hours) else f"{hours:.2f}"
