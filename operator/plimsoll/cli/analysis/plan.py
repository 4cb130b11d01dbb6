"""The output of `plimsoll plan`: a plan from files."""

import argparse
import sys
from datetime import UTC, datetime

from plimsoll.cli.analysis.fates import report
from plimsoll.cli.analysis.trial import trial
from plimsoll.cli.inputs.sources import Described, described
from plimsoll.cli.output.printing import FORMATS
from plimsoll.cli.output.writing import width
from plimsoll.errors import BadInput
from plimsoll_placement.effort import Effort


def planned(options: argparse.Namespace) -> str:
    """The plan in the requested format. Raises BadInput."""
    if not options.cluster and not options.filename:
        raise BadInput(["nothing to plan: give a cluster with --cluster and jobs with -f"])
    now = datetime.now(UTC)
    given = described(options.cluster, options.filename, now)
    if options.verbose:
        sys.stderr.write(_passed_over(given))
    limit = None if options.time_limit is None else Effort(options.time_limit)
    return FORMATS[options.output](report(trial(given.objects, now, limit)), width())


def _passed_over(given: Described) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(given.ignored.items()))
    unknown = "".join(f"{text}\n" for text in given.unknown)
    return f"{unknown}Skipped: {kinds or 'nothing'}.\n"
