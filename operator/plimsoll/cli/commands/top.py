"""The command `plimsoll top` and its options."""

import argparse

from plimsoll.cli.inputs.options import add_connection, add_output, add_scope, add_watch
from plimsoll.errors import BadInput

NAME = "top"
ABOUT = "show what jobs or nodes do right now: GPUs, watts, rates, progress"
EXAMPLE = "jobs -A --watch"
_MORE = """\
jobs: state, GPUs, measured watts, work done a second (of a service: the load
that comes to it), share done and time left, ready replicas; of your namespace,
or with -A of all. The most GPUs come first.

nodes: GPUs and how many of them pods hold, the watts that its GPUs should draw
by what is known of their pool and jobs, whether it takes pods, and its jobs.

--type shows those on GPUs of a type, by its whole name or by words of it: H100
is NVIDIA-H100-80GB-HBM3. --queue shows the jobs of a queue.

Rights: jobs needs trainingjobs and inferencejobs, to list and, for --watch, to
watch; nodes also nodes, pods and gpupools. What you may not list is left out,
which is said.

examples:
  plimsoll top jobs
  plimsoll top jobs -A --type H100
  plimsoll top nodes --watch
  plimsoll top jobs -A -o csv >jobs.csv
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument("what", metavar="jobs|nodes", choices=("jobs", "nodes"))
    parser.add_argument("--type", metavar="NAME", help="only those on GPUs of this type")
    parser.add_argument("--queue", metavar="NAME", help="only jobs of this queue")
    add_connection(parser)
    add_scope(parser)
    add_output(parser, ("table", "wide", "json", "yaml", "csv"))
    add_watch(parser)


def run(options: argparse.Namespace) -> None:
    """Print the jobs or the nodes. Raises BadInput."""
    # Tables and the client take a moment to import; --help should not wait for them.
    from plimsoll.cli.questions.top import ask_for_jobs, ask_for_nodes  # noqa: PLC0415

    if options.what == "jobs":
        ask_for_jobs(options)
    elif options.queue:
        raise BadInput(["--queue: nodes have none: omit it, or show jobs"])
    else:
        ask_for_nodes(options)
