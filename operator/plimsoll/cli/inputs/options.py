"""Options that several commands share: which cluster to use, and how to print the result."""

import argparse
import math
from collections.abc import Sequence

ORIGINS = """\
Without --snapshot and --cluster, the cluster of your kubeconfig is used, as
with kubectl. It is only listed; nothing is written or changed.
"""


def add_origins(parser: argparse.ArgumentParser) -> None:
    """Add the options that select a cluster."""
    parser.add_argument(
        "--snapshot",
        metavar="FILE",
        help="a snapshot written by the operator, planned for its own time",
    )
    parser.add_argument(
        "--cluster",
        metavar="PATH",
        action="append",
        default=[],
        help="manifests of the cluster's objects, as for plimsoll plan",
    )
    add_connection(parser)


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Add the options that select a running cluster, as kubectl's do."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig file to use")
    parser.add_argument("--context", metavar="NAME", help="kubeconfig context to use")


def add_filename(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the option that names manifests, as kubectl's does."""
    parser.add_argument("-f", "--filename", metavar="PATH", action="append", default=[], help=about)


def add_scope(parser: argparse.ArgumentParser, *, standard: str = "the context's") -> None:
    """Add the options that select namespaces of a running cluster, as kubectl's do."""
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("-n", "--namespace", metavar="NAME", help=f"namespace (default: {standard})")
    scope.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Add the option that shows each change."""
    parser.add_argument(
        "-w", "--watch", action="store_true", help="show it again after each change, until ^C"
    )


def add_output(
    parser: argparse.ArgumentParser, formats: Sequence[str] = ("table", "json", "yaml")
) -> None:
    """Add the option that selects the output format."""
    parser.add_argument(
        "-o",
        "--output",
        choices=formats,
        default="table",
        help="output format (default: table)",
    )


def add_namespace(parser: argparse.ArgumentParser) -> None:
    """Add the option for the job's namespace."""
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        help="the job's namespace, if several have a job of that name",
    )


def seconds(text: str) -> float:
    """The value of an option: a number of seconds, 0 or more."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds: use 0 or more")
    return found
