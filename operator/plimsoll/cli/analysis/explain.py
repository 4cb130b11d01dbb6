"""The output of `plimsoll explain`: why a job waits."""

import argparse

from plimsoll.cli.analysis.job_lookup import job_called
from plimsoll.cli.analysis.remedies import Explaining
from plimsoll.cli.analysis.trial import trial
from plimsoll.cli.inputs.given import given
from plimsoll.cli.output.explanation import why_text
from plimsoll.cli.output.writing import width, written
from plimsoll.errors import BadInput


def explained(options: argparse.Namespace) -> str:
    """The whole explanation of a job. Raises BadInput."""
    cluster = given(options)
    made = trial(cluster.before.objects, cluster.now, cluster.effort)
    view = job_called(made.snapshot, options.job, options.namespace)
    why = Explaining(made).why(view)
    if why is None:
        raise BadInput([f"{options.job}: has ended, so there is nothing to explain"])
    return written(why, options.output, lambda: why_text(why, width()))
