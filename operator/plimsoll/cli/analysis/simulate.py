"""The output of `plimsoll simulate`: what applying files to a cluster would change."""

import argparse
import sys
from collections.abc import Iterator

from plimsoll.cli.analysis.comparison import simulation
from plimsoll.cli.analysis.trial import trial
from plimsoll.cli.inputs.given import given
from plimsoll.cli.output.explanation import hours, spots, why_lines, wrapped
from plimsoll.cli.output.results import Moved, Simulated, Simulation
from plimsoll.cli.output.writing import width, written
from plimsoll.errors import BadInput
from plimsoll.observe.labels import QUEUE

_MINUTE, _HOUR = 60, 3600


def simulated(options: argparse.Namespace) -> str:
    """The outcome for all jobs. Raises BadInput."""
    cluster = given(options, options.filename)
    if not cluster.after.applied:
        paths = ", ".join(options.filename)
        kinds = f"a TrainingJob, an InferenceJob, or a Job with the label {QUEUE}"
        raise BadInput([f"{paths}: nothing to simulate: add {kinds}"])
    sys.stderr.writelines(f"{text}\n" for text in cluster.after.unknown)
    before = trial(cluster.before.objects, cluster.now, cluster.effort)
    after = trial(cluster.after.objects, cluster.now, cluster.effort)
    result = simulation(before, after, cluster.after.applied)
    return written(result, options.output, lambda: _text(result, width()))


def _text(result: Simulation, wide: int | None) -> str:
    return "".join(f"{part}\n" for line in _lines(result) for part in wrapped(line, wide))


def _lines(result: Simulation) -> Iterator[str]:
    for each in result.applied:
        yield from _applied(each)
        yield ""
    if result.others:
        yield "Effect on other jobs:"
        for other in result.others:
            yield f"  - {_moved(other)}"
        if result.gpu_hours_lost:
            yield f"  {hours(result.gpu_hours_lost)} of work would be lost in total."
    else:
        yield "No effect on other jobs."
    yield "Nothing was changed."


def _applied(each: Simulated) -> Iterator[str]:
    yield from why_lines(each.why)
    yield f"  starts: {each.starts}"
    if each.cost is not None:
        cost = each.cost
        known = cost.dollars_per_hour is not None
        parts = [f"${cost.dollars_per_hour:,.2f} an hour"] if known else []
        # Of pools that say nothing of power nothing is known.
        parts += [f"{cost.watts:,.0f} W"] if cost.watts else []
        if parts:
            yield f"  {'costs' if known else 'draws'}: {', '.join(parts)}"
        if cost.seconds is not None and cost.dollars is not None:
            yield f"  takes: {_duration(cost.seconds)}, ${cost.dollars:,.2f} in total"
        if cost.late_seconds is not None:
            yield f"  ends: {_duration(cost.late_seconds)} after its deadline"


def _moved(other: Moved) -> str:
    now = f", on {spots(other.after)}" if other.after else ""
    was = f", without it on {spots(other.before)}" if other.before else ""
    lost = f"; {hours(other.gpu_hours_lost)} of work lost" if other.gpu_hours_lost else ""
    return f"{other.job} (priority {other.priority}) {other.fate}{now}{was}{lost}"


def _duration(seconds: int) -> str:
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} min"
