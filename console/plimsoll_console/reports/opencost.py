"""A usage report as OpenCost's `/allocation` answers it, for tools that read that.

GPUs are all that the ledger knows: CPU, memory, network and volumes cost nothing here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from plimsoll.kube.objects.times import rfc3339
from plimsoll.vocabulary.dimensions import Dimension
from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.reports.query import TIMES, Query, Sight, dimensions
from plimsoll_console.reports.times import UnusableQuery, duration, window
from plimsoll_console.reports.usage import HELD, NODE_TIME, Report, Row

IDLE: Final = "__idle__"
UNALLOCATED: Final = "__unallocated__"
REMAINDER: Final = "__others__"
_NAMES: Final = {"controller": "job"}
_MOST_STEPS: Final = 400
_NOT_JOBS: Final = tuple(use for use in NODE_TIME if use not in HELD)
_FREE: Final = ("cpuCost", "ramCost", "pvCost", "networkCost", "loadBalancerCost", "sharedCost")
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Fields:
    """OpenCost's parameters, as text."""

    window: str
    aggregate: str = "namespace"
    step: str = ""
    include_idle: bool = False


def queries(fields: Fields, now: datetime, sight: Sight) -> list[Query]:
    """One query per step. Raises UnusableQuery."""
    since, until = window(fields.window, now)
    names = ",".join(_NAMES.get(name.strip(), name) for name in fields.aggregate.split(","))
    by = dimensions("aggregate", names)
    if not by or any(each in TIMES for each in by):
        raise UnusableQuery("aggregate: must name what is charged, such as namespace: correct it")
    step = duration(fields.step) if fields.step else until - since
    if step is None or (fields.step and (step < _HOUR or step % _HOUR)):
        raise UnusableQuery("step: must be whole hours, such as 1h or 1d: correct it")
    if (until - since) / max(step, _HOUR) > _MOST_STEPS:
        raise UnusableQuery(f"step: makes more than {_MOST_STEPS} steps: set a longer one")
    return [Query.of(start, end, by, sight) for start, end in _steps(since, until, step)]


def as_allocations(reports: Iterable[Report], *, include_idle: bool = False) -> dict[str, Any]:
    """OpenCost's answer: for each step, the allocations by their names."""
    sets = [_allocations(report, include_idle=include_idle) for report in reports]
    return {"code": 200, "status": "success", "data": sets}


def _steps(
    since: datetime, until: datetime, step: timedelta
) -> Iterable[tuple[datetime, datetime]]:
    while since < until:
        yield since, min(since + step, until)
        since += step


def _allocations(report: Report, *, include_idle: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in report.rows:
        name = REMAINDER if row.is_remainder else "/".join(key or UNALLOCATED for key in row.keys)
        if row.amounts.of(*HELD).milli_ms:
            found[name] = _allocation(report, row, name, HELD)
    idle = [row.amounts.of(*_NOT_JOBS) for row in report.rows if not row.is_remainder]
    if include_idle and any(each.milli_ms for each in idle):
        found[IDLE] = _costs(
            report,
            IDLE,
            {},
            float(sum(e.gpu_hours for e in idle)),
            float(sum(e.dollars for e in idle)),
        )
    return found


def _allocation(report: Report, row: Row, name: str, uses: Sequence[Use]) -> dict[str, Any]:
    amount = row.amounts.of(*uses)
    properties = _properties(report, row) if not row.is_remainder else {}
    return _costs(report, name, properties, float(amount.gpu_hours), float(amount.dollars))


def _costs(
    report: Report, name: str, properties: Mapping[str, Any], hours: float, cost: float
) -> dict[str, Any]:
    query = report.query
    start, end = rfc3339(query.since), rfc3339(query.until)
    return {
        "name": name,
        "properties": dict(properties),
        "window": {"start": start, "end": end},
        "start": start,
        "end": end,
        "minutes": (query.until - query.since) / _MINUTE,
        "gpuCount": hours / ((query.until - query.since) / _HOUR),
        "gpuHours": hours,
        "gpuCost": cost,
        **dict.fromkeys(_FREE, 0.0),
        "totalCost": cost,
    }


def _properties(report: Report, row: Row) -> dict[str, Any]:
    """What the allocation is of: in OpenCost's words where it has some, else as labels."""
    keys = dict(zip(report.query.by, row.keys, strict=True))
    found: dict[str, Any] = {}
    if Dimension.NAMESPACE in keys:
        found["namespace"] = keys.pop(Dimension.NAMESPACE)
    kind, slash, rest = keys.pop(Dimension.JOB, "").partition("/")
    if slash:
        namespace, _, name = rest.partition("/")
        found |= {"controllerKind": kind, "controller": name, "namespace": namespace}
    if keys:
        found["labels"] = {f"plimsoll_{each.value}": key for each, key in keys.items()}
    return found
