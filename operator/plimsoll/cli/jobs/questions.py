"""What the commands that show a job ask of a cluster, and how they show the answer."""

import argparse
from datetime import datetime
from functools import partial
from typing import Any

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.cluster.reading import Known, Scope, Wanted
from plimsoll.cli.jobs.asking import JOBS, PRICES, SAID, about, asked, objects_of
from plimsoll.cli.jobs.card import Card, card
from plimsoll.cli.jobs.card_lines import card_document
from plimsoll.cli.jobs.happenings import Happenings, happenings, happenings_table
from plimsoll.cli.jobs.naming import title
from plimsoll.cli.jobs.pods import pods_by_job
from plimsoll.cli.jobs.stored import (
    StoredInferenceJob,
    StoredQueue,
    StoredTrainingJob,
    models,
)
from plimsoll.cli.jobs.tree import Tree, tree, tree_drawing
from plimsoll.cli.output.document import Document
from plimsoll.cli.showing import Question, show
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod

_QUEUES: Wanted[Any] = Wanted(StoredQueue.resource(), StoredQueue)


def show_job(options: argparse.Namespace) -> None:
    """Print a job's card. Raises BadInput."""
    _, job = asked(options)
    wanted = [*about(job), SAID, PRICES]
    show(options, Question(wanted, partial(_card, job), lambda answer, _: card_document(answer)))


def _card(job: Job, known: Known, _now: datetime) -> Card:
    return card(objects_of(known, job))


def show_events(options: argparse.Namespace) -> None:
    """Print what was said of a job. Raises BadInput."""
    _, job = asked(options)
    question = Question([*about(job), SAID], partial(_happenings, job), _said)
    show(options, question)


def _happenings(job: Job, known: Known, _now: datetime) -> Happenings:
    found = objects_of(known, job)
    return Happenings(title(job), happenings(found.job, found.pods, found.events))


def _said(answer: Happenings, _now: datetime) -> Document:
    if not answer.events:
        return (f"Nothing was said of {answer.job} within the hour that events are kept.",)
    return (happenings_table(answer),)


def show_tree(options: argparse.Namespace) -> None:
    """Print jobs as a tree. Raises BadInput."""
    if options.job is None:
        pods: Wanted[Any] = Wanted(PODS, Pod, scope=Scope.OWN)
        show(options, Question([*JOBS, pods, _QUEUES], _tree, _drawn))
        return
    _, job = asked(options)
    show(options, Question([*about(job), _QUEUES], partial(_tree_of, job), _drawn))


def _tree(known: Known, _now: datetime) -> Tree:
    jobs: list[Job] = [*models(known.of(StoredTrainingJob).items, TrainingJob)]
    jobs += models(known.of(StoredInferenceJob).items, InferenceJob)
    return tree(jobs, pods_by_job(jobs, known.of(Pod).items, {}), _queues(known))


def _tree_of(job: Job, known: Known, _now: datetime) -> Tree:
    found = objects_of(known, job)
    return tree([found.job], {job.metadata.uid: found.pods}, _queues(known))


def _queues(known: Known) -> list[JobQueue]:
    return [*models(known.of(StoredQueue).items, JobQueue)]


def _drawn(answer: Tree, _now: datetime) -> Document:
    return (tree_drawing(answer),) if answer.queues else ("There are no jobs.",)
