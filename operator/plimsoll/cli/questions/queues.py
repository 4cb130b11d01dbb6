"""Ask for all queues, or for the order in one."""

import argparse
from functools import partial

from plimsoll.cli.cluster.objects import INFERENCE_JOBS, TRAINING_JOBS, InferenceJob
from plimsoll.cli.cluster.reading import Wanted
from plimsoll.cli.questions.kinds import JOBS, PRIORITIES, QUEUES
from plimsoll.cli.showing import Question, show
from plimsoll.cli.views.queue_order import (
    QueuedTrainingJob,
    order_document,
    order_table,
    queue_order,
)
from plimsoll.cli.views.queues import queues, queues_document, queues_rows
from plimsoll.kube.http.client import Selection


def ask(options: argparse.Namespace) -> None:
    """Print the queues, or the jobs of one. Raises BadInput."""
    if options.queue is None:
        show(options, Question((QUEUES, *JOBS), queues, queues_document, queues_rows))
        return
    of_queue = Selection(fields=f"spec.queue={options.queue}")
    wanted = (
        QUEUES,
        PRIORITIES,
        Wanted(TRAINING_JOBS, QueuedTrainingJob, selection=of_queue),
        Wanted(INFERENCE_JOBS, InferenceJob, selection=of_queue),
    )
    order = partial(queue_order, options.queue)
    show(options, Question(wanted, order, order_document, order_table))
