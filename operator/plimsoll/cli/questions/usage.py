"""Ask the console who used what."""

import argparse
import asyncio
import sys
from typing import Final

import msgspec

from plimsoll.cli.cluster.refusals import explained
from plimsoll.cli.console.asking import Console, console_of
from plimsoll.cli.console.reaching import RIGHTS
from plimsoll.cli.output.colour import paint_for
from plimsoll.cli.output.document import Layout, as_text
from plimsoll.cli.output.progress import slow
from plimsoll.cli.output.writing import width, written
from plimsoll.cli.views.usage import Usage, usage_document
from plimsoll.errors import UnusableCluster
from plimsoll.naming import printable
from plimsoll.vocabulary.logs import only_errors

TEXTS: Final = ("csv", "focus")
"""What the console writes itself."""
_PATH: Final = "usage"


def ask(options: argparse.Namespace) -> None:
    """Print what was used. Raises BadInput."""
    otherwise = "or name a console that you can reach with --console"
    with (
        explained(otherwise, error_type=UnusableCluster, right=RIGHTS),
        only_errors(),
        slow("asking the console"),
    ):
        text = asyncio.run(_printed(options))
    sys.stdout.write(text)


async def _printed(options: argparse.Namespace) -> str:
    async with console_of(options) as console:
        body = await console.get(_PATH, _query(options))
        if options.output in TEXTS:
            return _harmless(body)
        return _text(_decoded(console, body), options)


def _query(options: argparse.Namespace) -> dict[str, str]:
    given = {
        "since": options.since,
        "until": options.until,
        "by": options.by,
        "namespace": options.namespace,
        "format": options.output if options.output in TEXTS else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _decoded(console: Console, body: bytes) -> Usage:
    try:
        return msgspec.json.decode(body, type=Usage)
    except msgspec.DecodeError as error:
        raise console.no_console() from error


def _harmless(body: bytes) -> str:
    """The lines as they are, without anything that a terminal would obey."""
    return "\n".join(map(printable, body.decode(errors="replace").split("\n")))


def _text(found: Usage, options: argparse.Namespace) -> str:
    paint = paint_for(no_color=options.no_color)
    layout = Layout(width(), wide=options.output == "wide", paint=paint)
    return written(found, options.output, lambda: as_text(usage_document(found), layout))
