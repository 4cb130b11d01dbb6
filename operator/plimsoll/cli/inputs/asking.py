"""Which cluster is asked about? Options for the commands that take a file or a running cluster."""

import argparse

ORIGINS = """\
Without --snapshot and --cluster the cluster of your kubeconfig is asked, as
kubectl finds it. It is only listed: nothing is written, and nothing changes.
"""


def add_origins(parser: argparse.ArgumentParser) -> None:
    """Tell a parser which options say what to look at."""
    parser.add_argument(
        "--snapshot",
        metavar="FILE",
        help="a file that the operator has written; what it says is now",
    )
    parser.add_argument(
        "--cluster",
        metavar="PATH",
        action="append",
        default=[],
        help="manifests of what the cluster holds, as for plimsoll plan",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="which clusters there are")
    parser.add_argument("--context", metavar="NAME", help="which of them is meant")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Tell a parser which options say how to answer."""
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "yaml"),
        default="table",
        help="what is printed (default: table)",
    )


def add_namespace(parser: argparse.ArgumentParser) -> None:
    """Tell a parser about the namespace of the job that is meant."""
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="the namespace of the job, if several have it"
    )
