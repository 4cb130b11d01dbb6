"""The command `plimsoll usage` and its options."""

import argparse

from plimsoll.cli.inputs.options import add_connection, add_output, add_scope
from plimsoll.cli.invocation import did_you_mean
from plimsoll.vocabulary.dimensions import Dimension

NAME = "usage"
ABOUT = "show who used how many GPU-hours, for what, and what that cost"
EXAMPLE = "--since 30d --by queue,type"
_MORE = f"""\
Asks the console's ledger for whole hours. Sums are made by some of
{", ".join(Dimension)};
by one of the last three at most. Others' use is one remainder without names.

The console is reached as by plimsoll ui, or with --console at an address that
you can reach. It is sent the token of your kubeconfig, or that of --token-file.

Rights: to list pods, and to get and create pods/portforward, where the console
runs, unless --console is given; to list trainingjobs and inferencejobs in
namespaces whose use is shown by name, and nodes to see the hours that no job
had.

examples:
  plimsoll usage --since 7d -n team
  plimsoll usage --since 2026-11-01 --until 2026-12-01 --by month,user -o wide
  plimsoll usage --by job -o focus >focus.csv
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    time = "30d, 12h, a date such as 2026-11-01, or a time such as 2026-11-01T08:00:00Z"
    parser.add_argument("--since", metavar="TIME", help=f"{time} (default: 30d)")
    parser.add_argument("--until", metavar="TIME", help="the same (default: now)")
    parser.add_argument(
        "--by",
        metavar="WORD,…",
        type=_dimensions,
        help="what sums are made by (default: queue)",
    )
    add_scope(parser, standard="all")
    add_output(parser, ("table", "wide", "json", "yaml", "csv", "focus"))
    add_connection(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--console", metavar="URL", help="address of the console")
    where.add_argument(
        "--console-namespace", metavar="NAME", help="the console's namespace (default: any)"
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help="file with a token to use instead of the kubeconfig's"
    )


def run(options: argparse.Namespace) -> None:
    """Print what was used. Raises BadInput."""
    # Tables and the client take a moment to import; --help should not wait for them.
    from plimsoll.cli.questions.usage import ask  # noqa: PLC0415

    ask(options)


def _dimensions(text: str) -> str:
    known = [each.value for each in Dimension]
    for word in text.split(","):
        if word.strip() not in known:
            guess = did_you_mean(word.strip(), known) or f": use some of {', '.join(known)}"
            raise argparse.ArgumentTypeError(f"there is no {word.strip()[:40]!r}{guess}")
    return text
