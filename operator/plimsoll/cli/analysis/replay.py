"""The output of `plimsoll replay`: a snapshot's plan made again, compared with the recorded one."""

import argparse
from collections.abc import Iterator

from plimsoll.cli.analysis.fates import report
from plimsoll.cli.analysis.remedies import Explaining
from plimsoll.cli.analysis.trial import Trial, trial
from plimsoll.cli.inputs.recorded import required_head
from plimsoll.cli.inputs.sources import described
from plimsoll.cli.output.explanation import moment, why_lines, wrapped
from plimsoll.cli.output.printing import as_table
from plimsoll.cli.output.results import Difference, Replay, Why
from plimsoll.cli.output.writing import width, written
from plimsoll.planning.plan.decisions import assignments_text
from plimsoll.snapshots.head import Head

OTHER_PLAN = 1
_MOST_LISTED = 20


def replayed(options: argparse.Namespace) -> tuple[str, int]:
    """The plan and the exit status. Raises BadInput."""
    head = required_head(options.file)
    objects = described([options.file], (), head.taken, may_be_empty=True).objects
    made = trial(objects, head.taken, head.effort.effort())
    differences = tuple(_differences(head, made))
    result = Replay(
        taken=head.taken,
        program_version=head.program_version,
        same=not differences,
        differences=differences,
        report=report(made),
        waiting=tuple(_waiting(made, options.explain)),
    )
    text = written(result, options.output, lambda: _text(result, width()))
    return text, 0 if result.same else OTHER_PLAN


def _differences(head: Head, made: Trial) -> Iterator[Difference]:
    recorded = head.plan.by_job()
    now = {name: each for name, each in made.result.solution.placements.items() if each}
    for name in sorted(recorded.keys() | now.keys()):
        before, after = recorded.get(name, ()), now.get(name, ())
        if set(before) != set(after):
            yield Difference(name, assignments_text(before), assignments_text(after))


def _waiting(made: Trial, most: int) -> Iterator[Why]:
    """Why the most important waiting jobs wait."""
    explaining = Explaining(made)
    lines = [(explaining.line(view), view) for view in made.snapshot.jobs]
    waits = [(line, view) for line, view in lines if line is not None and not line.place]
    waits.sort(key=lambda each: (-(each[0].priority or 0), each[1].name))
    for _, view in waits[:most]:
        why = explaining.why(view, most=1)
        if why is not None:
            yield why


def _text(result: Replay, wide: int | None) -> str:
    lines = "".join(f"{part}\n" for line in _lines(result) for part in wrapped(line, wide))
    return f"{as_table(result.report, wide)}\n{lines}"


def _lines(result: Replay) -> Iterator[str]:
    for why in result.waiting:
        yield from why_lines(why)
        yield ""
    by = f"at {moment(result.taken)} by version {result.program_version}"
    if result.same:
        yield f"This is the plan that was made {by}."
        return
    yield f"This is not the plan that was made {by}:"
    for each in result.differences[:_MOST_LISTED]:
        yield f"  - {each.job}: then {each.recorded or 'waiting'}; now {each.now or 'waiting'}"
    rest = len(result.differences) - _MOST_LISTED
    if rest > 0:
        yield f"  - and {rest} more"
    yield "The file was edited, or this version plans differently."
