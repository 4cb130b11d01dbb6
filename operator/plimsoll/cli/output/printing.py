"""Reports as tables for people."""

from collections.abc import Iterator, Sequence

from plimsoll.cli.output.report import JobLine, Place, Report, Summary
from plimsoll.cli.output.table import Column, aligned, annotated
from plimsoll_placement.solution import Outcome

_MOST_NODES = 8
_NAMESPACE = Column("NAMESPACE")
_JOB = (
    Column("NAME"),
    Column("KIND"),
    Column("QUEUE"),
    Column("PRIORITY", is_number=True),
    Column("ACTION"),
)
_TYPE, _USED = Column("GPU TYPE"), Column("USED", is_number=True)
_GPUS = (_TYPE, _USED, Column("BY OTHERS", is_number=True), Column("TOTAL", is_number=True))
_QUEUES = (
    Column("QUEUE"),
    _TYPE,
    _USED,
    Column("GUARANTEED", is_number=True),
    Column("LIMIT", is_number=True),
)
_POWER = (
    Column("POWER DOMAIN"),
    Column("EXPECTED W", is_number=True),
    Column("BUDGET W", is_number=True),
)
_PURCHASES = (
    Column("TO BUY"),
    Column("CAPACITY"),
    Column("NODES", is_number=True),
    Column("PER HOUR", is_number=True),
)


def as_table(report: Report, width: int | None) -> str:
    """The report for a terminal of this width; None allows lines of any length."""
    parts = (_jobs(report.jobs, width), *_shared(report), _summary(report.summary))
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


def _jobs(jobs: Sequence[JobLine], width: int | None) -> list[str]:
    if not jobs:
        return ["There are no jobs."]
    several = len({job.namespace for job in jobs}) > 1
    columns = (_NAMESPACE, *_JOB) if several else _JOB
    lines = aligned(columns, [_cells(job)[0 if several else 1 :] for job in jobs])
    return [*annotated(lines, ["WHERE, OR WHY NOT", *map(_text, jobs)], width)]


def _cells(job: JobLine) -> tuple[str, ...]:
    priority = "?" if job.priority is None else str(job.priority)
    return job.namespace, job.name, job.kind, job.queue, priority, job.action


def _text(job: JobLine) -> str:
    """Where a job is, or why it waits or moves."""
    roles = {place.role for place in job.place}
    place = "; ".join(
        f"{each.role}: {place_text(each)}" if len(roles) > 1 else place_text(each)
        for each in job.place
    )
    placed = bool(place) and job.action in ("Admit", "Keep")
    text = place if placed else f"{job.reason}: {job.message}"
    text = f"{text}; no room for {job.missing}" if job.missing else text
    return f"{text}; {job.purchase.message}" if job.purchase else text


def place_text(place: Place) -> str:
    """A number of GPUs of one type on these nodes, or pods without any."""
    names = [f"{name} ({_number(gpus)})" for name, gpus in place.nodes.items()]
    if len(names) == 1 or not place.accelerator_type:
        names = [*place.nodes]
    rest = len(names) - _MOST_NODES
    more = f" and {rest} more {'node' if rest == 1 else 'nodes'}" if rest > 0 else ""
    listed = ", ".join(names[:_MOST_NODES]) + more
    if not place.accelerator_type:
        return f"no GPU on {listed}"
    return f"{_number(place.gpus)} × {place.accelerator_type} on {listed}"


def _shared(report: Report) -> Iterator[list[str]]:
    """Tables of what jobs share, without empty ones."""
    gpus = [
        (each.accelerator_type, *map(_number, (each.used, each.used_by_others, each.total)))
        for each in report.gpus
    ]
    queues = [
        (each.name, each.accelerator_type, *map(_number, (each.used, each.guaranteed, each.limit)))
        for each in report.queues
    ]
    power = [
        (each.name, f"{each.expected_watts:,}", f"{each.budget_watts:,}")
        for each in report.power_domains
    ]
    bought = [
        (each.pool, each.capacity_type, f"{each.nodes:,}", f"{each.dollars_per_hour:,.2f}")
        for each in report.purchases
    ]
    tables = ((_GPUS, gpus), (_QUEUES, queues), (_POWER, power), (_PURCHASES, bought))
    for columns, rows in tables:
        if rows:
            yield aligned(columns, rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,}"


def _summary(summary: Summary) -> list[str]:
    jobs = "job" if summary.placed == 1 else "jobs"
    is_best = summary.outcome == Outcome.OPTIMAL
    gap = "The best" if is_best else f"At most {summary.gap_percent:g} % from the best"
    return [
        f"{summary.placed} {jobs} placed, {summary.waiting} waiting.",
        f"{gap} possible plan ({summary.outcome}, {summary.seconds:.1f} s).",
    ]
