"""Answer a question about a running cluster, once or again after each change."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec

from plimsoll.cli.cluster.connection import Cluster, connected
from plimsoll.cli.cluster.following import states
from plimsoll.cli.cluster.reading import Known, Wanted, read
from plimsoll.cli.output.colour import paint_for
from plimsoll.cli.output.document import Document, Layout, as_csv, as_text
from plimsoll.cli.output.progress import slow
from plimsoll.cli.output.report import Line
from plimsoll.cli.output.screen import Screen
from plimsoll.cli.output.table import Table
from plimsoll.cli.output.writing import width, written
from plimsoll.naming import one_line
from plimsoll.vocabulary.logs import only_errors

V = TypeVar("V", bound=Line)


@dataclass(frozen=True, slots=True)
class Question(Generic[V]):
    """What a command asks of a cluster, and how it shows the answer.

    `answer` is pure, and may raise NothingFound. `table` is the answer as CSV.
    """

    wanted: Sequence[Wanted[Any]]
    answer: Callable[[Known, datetime], V]
    document: Callable[[V, datetime], Document]
    table: Callable[[V, datetime], Table] | None = None


def show(options: argparse.Namespace, question: Question[V]) -> None:
    """Print the answer in the requested format; with --watch, until interrupted.

    Raises UnusableCluster, and what the answer raises.
    """
    cluster = connected(options)
    with only_errors():
        if options.watch:
            asyncio.run(_watch(cluster, options, question))
            return
        with slow("reading the cluster"):
            known = asyncio.run(read(cluster, question.wanted))
    now = datetime.now(UTC)
    answer = question.answer(known, now)
    sys.stderr.writelines(f"note: {one_line(each)}\n" for each in known.missing)
    sys.stdout.write(_text(options, question, answer, now))


async def _watch(cluster: Cluster, options: argparse.Namespace, question: Question[V]) -> None:
    # Tables are for people, who look at a terminal; anything else is for programs.
    in_place = sys.stdout.isatty() and options.output in ("table", "wide")
    screen, last = Screen(in_place=in_place), None
    async with aclosing(states(cluster, question.wanted)) as turns:
        with slow("reading the cluster"):
            known = await anext(turns)
        while True:
            now = datetime.now(UTC)
            answer = question.answer(known, now)
            # A state that only grew older is no news, but on a terminal its ages must be right.
            if in_place or last != (answer, known.missing):
                screen.show(_watched_text(options, question, answer, now, known.missing))
            last = (answer, known.missing)
            known = await anext(turns)


def _watched_text(
    options: argparse.Namespace,
    question: Question[V],
    answer: V,
    now: datetime,
    missing: Sequence[str],
) -> str:
    """A state among others: as JSON, one line each."""
    if options.output == "json":
        return msgspec.json.encode(answer).decode() + "\n"
    text = _text(options, question, answer, now)
    if options.output == "yaml":
        return f"---\n{text}"
    if options.output == "csv":
        return text
    return text + "".join(f"note: {one_line(each)}\n" for each in missing)


def _text(options: argparse.Namespace, question: Question[V], answer: V, now: datetime) -> str:
    if options.output == "csv" and question.table is not None:
        return as_csv(question.table(answer, now))
    paint = paint_for(no_color=options.no_color)
    layout = Layout(width(), wide=options.output == "wide", paint=paint)
    return written(answer, options.output, lambda: as_text(question.document(answer, now), layout))
