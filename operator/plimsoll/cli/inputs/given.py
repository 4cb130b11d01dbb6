"""The input of a command: a cluster at one moment, with and without what is applied to it."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from plimsoll.cli.inputs.live import live
from plimsoll.cli.inputs.recorded import head_of
from plimsoll.cli.inputs.sources import Described, before_and_after
from plimsoll.errors import BadInput
from plimsoll_placement.effort import Effort


@dataclass(frozen=True, slots=True)
class Given:
    """A cluster as it is and with everything applied, and the time to plan for."""

    before: Described
    after: Described
    now: datetime
    effort: Effort | None


def given(options: argparse.Namespace, files: Sequence[str] = ()) -> Given:
    """Read a snapshot, manifests or the running cluster. Raises BadInput."""
    if options.snapshot and options.cluster:
        raise BadInput(["--snapshot and --cluster exclude each other: omit one"])
    head = head_of(options.snapshot) if options.snapshot else None
    paths = [options.snapshot] if options.snapshot else options.cluster
    found = () if paths else live(options.kubeconfig, options.context)
    now = datetime.now(UTC) if head is None else head.taken
    is_whole = head is not None or not paths
    before, after = before_and_after(paths, files, now, live=found, may_be_empty=is_whole)
    return Given(before, after, now, None if head is None else head.effort.effort())
