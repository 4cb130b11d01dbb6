"""Ask for the whole cluster in a screen."""

import argparse

from plimsoll.cli.questions.kinds import (
    ALL_NODES,
    DOMAINS,
    JOBS,
    LIVING_PODS,
    POLICY,
    POOLS,
    PRIORITIES,
    QUEUES,
)
from plimsoll.cli.showing import Question, show
from plimsoll.cli.views.status import status
from plimsoll.cli.views.status_text import status_document

_WANTED = (POLICY, ALL_NODES, LIVING_PODS, *JOBS, QUEUES, POOLS, DOMAINS, PRIORITIES)


def ask(options: argparse.Namespace) -> None:
    """Print the status. Raises BadInput."""
    show(options, Question(_WANTED, status, status_document))
