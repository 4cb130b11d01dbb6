"""A trace on a cluster, as what happens on the twin: jobs are submitted, nodes go and come back."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from pydantic import ValidationError

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.refusal_text import refusals
from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import BadInput
from plimsoll.observe.assumed.assumptions import leaves_out_speeds
from plimsoll.observe.observer import Objects
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import give_notice
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.story import Event
from plimsoll_simulator.trace.applied import as_applied
from plimsoll_simulator.trace.fleet import Fleet, fleet
from plimsoll_simulator.trace.jobs import TracedJob, manifest, priority_class
from plimsoll_simulator.trace.node_events import NodeEvent
from plimsoll_simulator.trace.requests import Requests
from plimsoll_simulator.trace.rows import LONGEST_SECONDS, Moment, Row
from plimsoll_simulator.trace.services import SHARES_GPUS, traced_services, why_not_served
from plimsoll_simulator.trace.stated_speed import StatedSpeed
from plimsoll_simulator.twin import BEGINS, Twin


@dataclass(frozen=True, slots=True)
class Trace:
    """What happens from `begins` on, and the jobs of the cluster left out, with the reasons."""

    begins: datetime
    submissions: Sequence[Event]
    meanwhile: Sequence[Event]
    jobs: int
    services: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])


def trace(
    objects: Objects,
    jobs: Sequence[Row[TracedJob]] = (),
    node_events: Sequence[Row[NodeEvent]] = (),
    requests: Sequence[Row[Requests]] = (),
    *,
    preset: str | None = None,
) -> Trace:
    """The training jobs among the objects are submitted at the beginning, then those of the trace.

    Services to which requests come are there from the beginning, and until the last of these lines.
    The nodes are empty at first. `preset` replaces the objective of the policy. Raises BadInput.
    """
    known = fleet(objects)
    _require_priority_classes(objects, jobs)
    times = [row.content.submitted for row in jobs]
    times += [row.content.at for row in (*node_events, *requests)]
    begins = _beginning(times)
    submissions = [*_present(objects), *(_traced(row, known, begins) for row in jobs)]
    _require_names(submissions)
    in_seconds = partial(_seconds, begins)
    services = [*traced_services(_services(objects), requests, in_seconds, known.types)]
    of_all = [*(each.job for each in submissions), *(each.job for each in services)]
    setting = [
        *_policies(objects, preset),
        *_queues(objects, of_all),
        *_namespaces(objects, of_all),
        *_priority_classes(objects, jobs),
    ]
    return Trace(
        begins,
        [
            *map(_applying, setting),
            *(each.event() for each in services),
            *(each.event(known) for each in submissions),
            # Until then there is something to see.
            *(Event(in_seconds(row.content.at), _nothing) for row in requests),
        ],
        [
            *map(_applying, known.nodes.values()),
            *(_node_event(row, known, _seconds(begins, row.content.at)) for row in node_events),
        ],
        len(submissions),
        len(services),
        dict(_left_out(objects, [each.job for each in services])),
    )


@dataclass(frozen=True, slots=True)
class _Submission:
    """A job, its manifest, and when it comes."""

    job: TrainingJob
    raw: Raw
    seconds: float = 0.0

    def event(self, known: Fleet) -> Event:
        """The same as it happens."""
        return _applying(self.raw, self.seconds, StatedSpeed(self.job, known.types))


def _present(objects: Objects) -> Iterator[_Submission]:
    """The jobs of the cluster that have an end."""
    for job in objects.resources:
        if isinstance(job, TrainingJob) and not _why_left_out(job):
            yield _Submission(job, as_applied(job))


def _traced(row: Row[TracedJob], known: Fleet, begins: datetime) -> _Submission:
    seconds = _seconds(begins, row.content.submitted)
    raw = manifest(row, known.gpus_per_node, begins + timedelta(seconds=seconds))
    try:
        return _Submission(TrainingJob.model_validate(raw), raw, seconds)
    except ValidationError as error:
        raise BadInput([f"{row.where}: {each}" for each in refusals(error)]) from error


def _require_priority_classes(objects: Objects, jobs: Iterable[Row[TracedJob]]) -> None:
    known = {each.metadata.name for each in objects.priority_classes}
    wrong = [
        f"{row.where}: priorityClassName: there is no PriorityClass {name!r}: add it with -f,"
        " or say priority"
        for row in jobs
        if (name := row.content.priority_class_name) is not None and name not in known
    ]
    if wrong:
        raise BadInput(wrong)


def _require_names(submissions: Iterable[_Submission]) -> None:
    names = Counter(
        f"{each.job.metadata.namespace}/{each.job.metadata.name}" for each in submissions
    )
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise BadInput([f"there are several jobs {name}: rename all but one" for name in twice])


def _services(objects: Objects) -> dict[str, InferenceJob]:
    """The services among the objects, by namespace and name."""
    jobs = (each for each in objects.resources if isinstance(each, InferenceJob))
    return {f"{job.metadata.namespace}/{job.metadata.name}": job for job in jobs}


def _nothing(_: Twin) -> None:
    pass


def _left_out(objects: Objects, served: Collection[InferenceJob]) -> Iterator[tuple[str, str]]:
    for job in objects.resources:
        if isinstance(job, Job) and job not in served and (why_not := _why_left_out(job)):
            meta = job.metadata
            yield f"{job.definition.kind} {meta.namespace}/{meta.name}", why_not


def _beginning(times: Iterable[Moment]) -> datetime:
    """The earliest of the times; if they are in seconds, they count from any."""
    known = list(times)
    moments = [each for each in known if isinstance(each, datetime)]
    if moments and len(moments) < len(known):
        raise BadInput(["submitted, at: are seconds in some lines and times in others: use one"])
    begins = min(moments, default=BEGINS)
    if moments and (max(moments) - begins).total_seconds() > LONGEST_SECONDS:
        raise BadInput([f"submitted, at: {begins} and {max(moments)} are over a year apart"])
    return begins


def _seconds(begins: datetime, at: Moment) -> float:
    return (at - begins).total_seconds() if isinstance(at, datetime) else at


def _why_left_out(job: Job) -> str:
    if isinstance(job, InferenceJob):
        return why_not_served(job) or "no line of --requests names it"
    if job.spec.work is None:
        return "has no end: set spec.work"
    if leaves_out_speeds(job):
        return "does not say how fast it is: set the throughput of its spec.accelerators"
    if job.spec.workers.milli_gpus_per_worker % WHOLE_GPU_MILLI:
        return SHARES_GPUS
    return ""


def _policies(objects: Objects, preset: str | None) -> Iterator[Raw]:
    """Pools, domains, queues and the policy, which a preset replaces."""
    for each in objects.resources:
        is_replaced = preset is not None and isinstance(each, PlacementPolicy)
        if not isinstance(each, Job) and not is_replaced:
            yield as_applied(each)
    if preset is not None:
        yield _named("PlacementPolicy", "default", {"objective": {"preset": preset}})


def _queues(objects: Objects, jobs: Iterable[Job]) -> Iterator[Raw]:
    """The queues that jobs name and that are not there."""
    known = {each.metadata.name for each in objects.resources if isinstance(each, JobQueue)}
    for name in sorted({each.spec.queue for each in jobs} - known):
        yield _named("JobQueue", name, {})


def _namespaces(objects: Objects, jobs: Iterable[Job]) -> Iterator[Raw]:
    labels = {each.metadata.name: each.metadata.labels for each in objects.namespaces}
    for name in sorted({each.metadata.namespace for each in jobs} | labels.keys()):
        yield {"kind": "Namespace", "metadata": {"name": name, "labels": labels.get(name, {})}}


def _priority_classes(objects: Objects, jobs: Iterable[Row[TracedJob]]) -> Iterator[Raw]:
    classes = {
        each.metadata.name: {"value": each.value, "globalDefault": each.global_default}
        for each in objects.priority_classes
    }
    named = (row.content.priority for row in jobs)
    values = sorted({value for value in named if value is not None})
    classes = {priority_class(value): {"value": value} for value in values} | classes
    for name, content in classes.items():
        yield {"kind": "PriorityClass", "metadata": {"name": name}, **content}


def _named(kind: str, name: str, spec: Raw) -> Raw:
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def _applying(raw: Raw, seconds: float = 0.0, speed: StatedSpeed | None = None) -> Event:
    return Event(seconds, partial(Twin.apply, manifest=raw, speed=speed))


def _node_event(row: Row[NodeEvent], known: Fleet, seconds: float) -> Event:
    name = row.content.node
    if name not in known.nodes:
        raise BadInput([f"{row.where}: node: there is no node {name!r} with GPUs"])
    key = Key("nodes", "", name)

    def happen(twin: Twin) -> None:
        is_there = twin.api.find(key) is not None
        match row.content.event:
            case "Gone" if is_there:
                twin.api.remove(key)
            case "Back" if not is_there:
                twin.apply(known.nodes[name])
            case "Notice" if is_there:
                give_notice(twin.api, name)
            case _:
                pass

    return Event(seconds, happen)
