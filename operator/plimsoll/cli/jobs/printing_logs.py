"""Print the logs of a job's pods, as they are or as they grow."""

import argparse
import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing

from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.cluster.connection import Cluster
from plimsoll.cli.cluster.following import states
from plimsoll.cli.cluster.reading import Known, read
from plimsoll.cli.jobs.asking import about, asked, objects_of
from plimsoll.cli.jobs.logs import Followed, LogChoice, PodLine, logs_followed, logs_now
from plimsoll.errors import NothingFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.logs import LogQuery
from plimsoll.naming import one_line
from plimsoll.vocabulary.logs import only_errors


def print_logs(options: argparse.Namespace) -> None:
    """Print them. Raises BadInput."""
    cluster, job = asked(options)
    choice = LogChoice(_query(options), options.role, options.container, options.max_connections)
    with only_errors():
        asyncio.run(_print(options, cluster, job, choice))


def _query(options: argparse.Namespace) -> LogQuery:
    since = None if options.since is None else int(options.since.total_seconds())
    return LogQuery(options.tail, since, options.previous)


async def _print(
    options: argparse.Namespace, cluster: Cluster, job: Job, choice: LogChoice
) -> None:
    async with cluster.client(right="get pods/log") as client:
        lines = await _lines(client, cluster, job, choice, follow=options.follow)
        async with aclosing(lines):
            async for each in lines:
                time = f"{each.line.time} " if options.timestamps else ""
                sys.stdout.write(f"[{each.pod}] {time}{each.line.text}\n")
                if options.follow:
                    sys.stdout.flush()


async def _lines(
    client: KubeClient, cluster: Cluster, job: Job, choice: LogChoice, *, follow: bool
) -> AsyncGenerator[PodLine]:
    if follow:
        return logs_followed(client, _followed(cluster, job), choice, _note)
    pods = objects_of(await read(cluster, about(job)), job).pods
    return logs_now(client, pods, choice, _note)


async def _followed(cluster: Cluster, job: Job) -> AsyncGenerator[Followed]:
    async with aclosing(states(cluster, about(job))) as turns:
        async for known in turns:
            yield _state(known, job)


def _state(known: Known, job: Job) -> Followed:
    try:
        now = objects_of(known, job)
    except NothingFound:
        return Followed((), job_is_over=True)
    is_over = isinstance(now.job, TrainingJob) and now.job.status.finished_time is not None
    return Followed(now.pods, is_over)


def _note(text: str) -> None:
    sys.stderr.write(f"note: {one_line(text)}\n")
