"""Ask what jobs or nodes do right now."""

import argparse
from functools import partial

from plimsoll.cli.questions.kinds import ALL_NODES, JOBS, LIVING_PODS, OWN_JOBS, POOLS
from plimsoll.cli.showing import Question, show
from plimsoll.cli.views.top import (
    Which,
    jobs_document,
    jobs_now,
    jobs_table,
    nodes_document,
    nodes_now,
    nodes_table,
)


def ask_for_jobs(options: argparse.Namespace) -> None:
    """Print the jobs. Raises BadInput."""
    which = Which(options.type, options.queue)
    answer = partial(jobs_now, which=which)
    document = partial(jobs_document, which=which)
    show(options, Question(OWN_JOBS, answer, document, jobs_table))


def ask_for_nodes(options: argparse.Namespace) -> None:
    """Print the nodes. Raises BadInput."""
    wanted = (ALL_NODES, LIVING_PODS, POOLS, *JOBS)
    which = Which(options.type)
    answer = partial(nodes_now, which=which)
    document = partial(nodes_document, which=which)
    show(options, Question(wanted, answer, document, nodes_table))
