"""The first place of a job that is a single pod: its pod tells it until there is more to say.

Of the two statuses of such a job, that it has a place and that it runs, one is saved this way. If
its pod takes long to start, its place is written after all.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from plimsoll.acting.conditions.conditions import Fact, with_conditions
from plimsoll.acting.pods.gpu_request import nodes_summary
from plimsoll.acting.pods.manifest import Manifest, selector
from plimsoll.acting.step import Step, Turn
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.observe.labels import GENERATION, PLACED_AT
from plimsoll.observe.snapshot import JobView
from plimsoll.observe.views.first_places import Told, first_status, is_untold
from plimsoll.planning.plan.decisions import assignments_text
from plimsoll.planning.problem.running import running_assignments
from plimsoll.vocabulary.reasons import Reason

UNTOLD: Final = timedelta(seconds=10)
"""How long after it was made the pod may be all that tells a job's place."""


def told_by_pod(step: Step, job: TrainingJob, turn: Turn) -> Step:
    """The step, whose pod tells the job's place if it can, so that the status is not written."""
    if len(step.create) != 1 or step.job.pods or step.service or not is_untold(job.status):
        return step
    manifest, since = step.create[0], step.status.admitted_time
    placement = step.status.placement
    if placement is None or since is None:
        return step
    node = turn.snapshot.node_by_name[placement.assignments[0].nodes[0]]
    told = Told(job.metadata.generation, _resources(manifest), int(since.timestamp()))
    status = first_status(job.status, told, node, turn.snapshot.pools)
    if status is None or (status.placement, status.admitted_time) != (placement, since):
        return step
    labels = {GENERATION: str(told.generation), PLACED_AT: str(told.placed_at)}
    metadata = manifest["metadata"]
    pod = {
        **manifest,
        "metadata": {**metadata, "labels": {**metadata["labels"], **labels}},
    }
    return replace(step, create=(pod,), told_by_pod=True)


def _resources(manifest: Manifest) -> set[str]:
    """The resources that a pod's containers are limited to."""
    containers: list[dict[str, Any]] = manifest["spec"]["containers"]
    return {name for each in containers for name in each.get("resources", {}).get("limits", {})}


def with_first_place(view: JobView, job: TrainingJob) -> TrainingJob:
    """The job with all that its status says of a place that its pod tells."""
    if not view.told_by_pod:
        return job
    places = job.status.placement.assignments if job.status.placement else ()
    news = {
        "worker_count": len(places),
        "selector": selector(job),
        "nodes_summary": nodes_summary(places),
    }
    status = job.status.model_copy(update=news)
    text = f"placed: {assignments_text(running_assignments(job))}"
    fact = Fact.true("Admitted", Reason.ADMITTED, text)
    status = with_conditions(status, view, _since(status), [fact])
    return job.model_copy(update={"status": status})


def _since(status: TrainingJobStatus) -> datetime:
    since = status.admitted_time
    assert since is not None  # noqa: S101 - a pod tells it with the place
    return since


def untold(step: Step, turn: Turn) -> Step:
    """The step, without its status while that says no more than the pod does, and not for long."""
    view = step.job
    is_alike = step.status.reason == Reason.ADMITTED and not step.does_more_than_report
    if not (view.told_by_pod and is_alike) or not isinstance(step.status, TrainingJobStatus):
        return step
    until = max((each.created or turn.now for each in view.pods), default=turn.now) + UNTOLD
    if turn.now >= until:
        return step
    return replace(step, status=view.status_written, rests_until=until)
