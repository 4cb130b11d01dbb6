"""What `plimsoll explain` prints: from a cluster and the name of a job to why it waits."""

import argparse

from plimsoll.cli.explaining import Explaining
from plimsoll.cli.finding import job_called
from plimsoll.cli.given import given
from plimsoll.cli.telling import why_text
from plimsoll.cli.trial import trial
from plimsoll.cli.writing import width, written
from plimsoll.errors import BadInput


def explained(options: argparse.Namespace) -> str:
    """All that there is to say of a job. Raises BadInput."""
    asked = given(options)
    made = trial(asked.before.objects, asked.now, asked.effort)
    view = job_called(made.snapshot, options.job, options.namespace)
    why = Explaining(made).why(view)
    if why is None:
        raise BadInput([f"{options.job}: has ended, and waits for nothing"])
    return written(why, options.output, lambda: why_text(why, width()))
