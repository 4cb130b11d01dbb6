"""Make a program a worker, by the environment that Plimsoll sets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Callable

from plimsoll_worker.batch import Batch
from plimsoll_worker.job import Job
from plimsoll_worker.neighbours import neighbours_in
from plimsoll_worker.termination import Termination
from plimsoll_worker.wire import Place


def attach(
    *,
    agree: Callable[[int], int] | None = None,
    handle_sigterm: bool = True,
    batch: Batch | None = None,
    environment: Mapping[str, str] | None = None,
) -> Job:
    """The job that this process works for, to be used in a `with` statement.

    `agree` reduces the processes' numbers to one that is the same for all: their maximum, or that
    of rank 0. It is called in each `progress`, so all processes must call that equally often.
    Without `handle_sigterm` the signal is left to the program. A program that gives its `batch`
    takes `Job.batch` anew in each step: the plan may then change it without a restart.
    """
    found = os.environ if environment is None else environment
    termination = Termination() if handle_sigterm else None
    return Job(
        place_in(found),
        agree=agree,
        termination=termination,
        neighbours=neighbours_in(found),
        batch=batch,
    )


def place_in(environment: Mapping[str, str]) -> Place | None:
    """Where this process reports to; None if there is nowhere, or another process does it.

    Of the processes of one pod, which share a token and have one LOCAL_RANK each, the first does.
    """
    names = ("PLIMSOLL_JOB", "PLIMSOLL_WORKER_URL", "PLIMSOLL_TOKEN_FILE")
    values = [environment.get(name, "") for name in names]
    if not all(values) or environment.get("LOCAL_RANK", "0") != "0":
        return None
    return Place(*values)
