"""The output of `plimsoll plan`: a plan from files, or for a running cluster."""

import argparse
import sys
from datetime import UTC, datetime

from plimsoll.cli.analysis.fates import report
from plimsoll.cli.analysis.trial import trial
from plimsoll.cli.inputs.live import live
from plimsoll.cli.inputs.sources import Described, before_and_after, described
from plimsoll.cli.output.printing import as_table
from plimsoll.cli.output.writing import width, written
from plimsoll.errors import BadInput
from plimsoll_placement.effort import Effort


def planned(options: argparse.Namespace) -> str:
    """The plan in the requested format. Raises BadInput."""
    now = datetime.now(UTC)
    given = _given(options, now)
    if options.verbose:
        sys.stderr.write(_passed_over(given))
    limit = None if options.time_limit is None else Effort(options.time_limit)
    found = report(trial(given.objects, now, limit))
    return written(found, options.output, lambda: as_table(found, width()))


def _given(options: argparse.Namespace, now: datetime) -> Described:
    """What the options describe: files alone, unless a running cluster is asked for."""
    named = options.live or options.kubeconfig or options.context
    if options.cluster and named:
        option = "--live, --kubeconfig and --context"
        raise BadInput([f"--cluster is a cluster in files: omit it, or omit {option}"])
    if options.cluster or (options.filename and not named):
        return described(options.cluster, options.filename, now)
    found = live(options.kubeconfig, options.context, otherwise="or read a file with --cluster")
    return before_and_after((), options.filename, now, live=found, may_be_empty=True)[1]


def _passed_over(given: Described) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(given.ignored.items()))
    unknown = "".join(f"{text}\n" for text in given.unknown)
    return f"{unknown}Skipped: {kinds or 'nothing'}.\n"
