"""Answer a shell that completes, in the form that kubectl expects of its plugins.

A candidate is a line: the word, a tab, what it means. The last line is a colon and a number, which
says whether the shell may also complete names of files: see ShellCompDirective of spf13/cobra.
"""

import argparse
from collections.abc import Sequence
from typing import Final

from plimsoll.cli.completion.words import Candidate, words_at
from plimsoll.naming import one_line

_FILES: Final = ":0"
_NO_FILES: Final = ":4"


def answer(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """What may stand for the last of these words, which may be empty."""
    *typed, start = words or ("",)
    found = words_at(parser, typed, start, _named)
    lines = [f"{one_line(each.word)}\t{one_line(each.about)}" for each in found.candidates]
    return "".join(f"{line}\n" for line in [*lines, _FILES if found.files else _NO_FILES])


def _named(argument: str, typed: argparse.Namespace) -> Sequence[Candidate]:
    # What asks a cluster takes most of a second to load, which few words need.
    from plimsoll.cli.completion.names import named  # noqa: PLC0415

    return named(argument, typed)
