"""Suspend and resume a job of a running cluster, and wait until that is done."""

import argparse
import asyncio
import sys
from contextlib import aclosing
from typing import Any

import msgspec

from plimsoll.api.definition import GROUP, VERSION
from plimsoll.api.kinds import Job
from plimsoll.cli.cluster.connection import Cluster
from plimsoll.cli.cluster.following import states
from plimsoll.cli.jobs.asking import about, asked, objects_of
from plimsoll.cli.jobs.suspension import Change, Write, is_settled, resumption, suspension
from plimsoll.cli.output.writing import written
from plimsoll.kube.http.resources import Resource
from plimsoll.naming import one_line
from plimsoll.vocabulary.logs import only_errors


def suspend(options: argparse.Namespace) -> None:
    """Suspend the job that the options name. Raises BadInput."""
    cluster, job = asked(options)
    _change(options, cluster, job, suspension(job))


def resume(options: argparse.Namespace) -> None:
    """Resume the job that the options name. Raises BadInput."""
    cluster, job = asked(options)
    _change(options, cluster, job, resumption(job))


def _change(options: argparse.Namespace, cluster: Cluster, job: Job, write: Write) -> None:
    with only_errors():
        if write.suspend is not None:
            asyncio.run(_write(cluster, job, suspend=write.suspend))
        change = write.change
        sys.stdout.write(written(change, options.output, lambda: f"{_text(change)}\n"))
        sys.stdout.flush()
        if options.wait:
            asyncio.run(_wait(cluster, job, suspended=change.suspended))


def _text(change: Change) -> str:
    return one_line(f"{change.job}: {change.message}")


async def _write(cluster: Cluster, job: Job, *, suspend: bool) -> None:
    """Write it to this very job, and not to another of its name."""
    path = Resource(GROUP, VERSION, job.definition.plural).named(
        job.metadata.name, job.metadata.namespace
    )
    body = {"metadata": {"uid": job.metadata.uid}, "spec": {"suspend": suspend}}
    async with cluster.client(right="patch") as client:
        await client.merge_patch(path, body, msgspec.Raw)


async def _wait(cluster: Cluster, job: Job, *, suspended: bool) -> None:
    wanted: list[Any] = about(job)
    async with aclosing(states(cluster, wanted)) as turns:
        async for known in turns:
            now = objects_of(known, job)
            if is_settled(now.job, suspended=suspended) and not (suspended and now.pods):
                return
