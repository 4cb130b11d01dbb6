"""Match jobs with the workloads they target, and pods with their targets.

A pod belongs to a target if its chain of controllers leads to that workload and the workload's
selector matches its labels.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.roles import Role
from plimsoll.api.resource import Resource
from plimsoll.errors import PlimsollError
from plimsoll.kube.objects.objects import LabelSelector, Pod
from plimsoll.kube.watching.workloads import Reading, Reference
from plimsoll.observe.eligibility.selectors import matches, selector_of
from plimsoll.observe.kueue import left_to_kueue
from plimsoll.observe.labels import JOB_UID
from plimsoll.observe.targets.kserve import left_to_kserve
from plimsoll.observe.targets.role import target_role
from plimsoll.observe.views.controllers import comes_from, ends_at, is_of_groups
from plimsoll.vocabulary.reasons import Reason

MOST_SELECTOR = 1024
"""The maximum length of the selector in a job's status."""


def reference_of(job: InferenceJob) -> Reference | None:
    """The workload that a job targets; None if it has roles of its own."""
    ref = job.spec.target_ref
    return Reference(job.metadata.namespace, ref.api_version, ref.kind, ref.name) if ref else None


def references_of(resources: Iterable[Resource]) -> list[Reference]:
    """The workloads that jobs target."""
    jobs = (each for each in resources if isinstance(each, InferenceJob))
    return [reference for job in jobs if (reference := reference_of(job)) is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A job's usable target, its role, and what its selector means."""

    job: InferenceJob
    reading: Reading
    role: Role
    selector: LabelSelector


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why nothing can be done with a job's target, and what to change."""

    job: InferenceJob
    reference: Reference
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Claims:
    """The usable targets, and the jobs whose targets are not, with the reason."""

    claims: tuple[Claim, ...]
    obstacles: tuple[Obstacle, ...]

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces with targets."""
        return frozenset(claim.job.metadata.namespace for claim in self.claims)

    def claimed(self, pods: Iterable[Pod]) -> dict[str, list[Pod]]:
        """The pods of targets by the uid of the job, without those that are already ours."""
        found: dict[str, list[Pod]] = defaultdict(list)
        places = self.namespaces
        by_link = {link: each for each in self.claims for link in ends_at(each.reading)}
        for pod in pods:
            if pod.metadata.namespace in places and JOB_UID not in pod.metadata.labels:
                claims = (by_link[link] for link in comes_from(pod) if link in by_link)
                claim = next(claims, None)
                if claim is not None and _selects(claim, pod):
                    found[claim.job.metadata.uid].append(pod)
        return found


class ClaimBook:
    """Works out who claims what; returns the same objects where nothing changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[InferenceJob, Reading, Claim | Obstacle]] = {}

    def of(self, jobs: Iterable[InferenceJob], readings: Mapping[Reference, Reading]) -> Claims:
        """The targets of jobs; of several jobs with the same target the oldest gets it."""
        found: dict[str, tuple[InferenceJob, Reading, Claim | Obstacle]] = {}
        taken: list[Obstacle] = []
        holders: dict[Reference | str, str] = {}
        for job in sorted(jobs, key=_age):
            reference = reference_of(job)
            reading = readings.get(reference) if reference else None
            if reading is None:
                continue
            # By uid, because a kind may have several versions.
            target = reading.workload.metadata.uid or reading.reference
            holder = holders.setdefault(target, job.metadata.name)
            if holder == job.metadata.name:
                found[job.metadata.uid] = job, reading, self._kept(job, reading)
            else:
                taken.append(_taken(job, reading, holder))
        self._known = found
        made = [each for _, _, each in found.values()]
        obstacles = (each for each in made if isinstance(each, Obstacle))
        claims = (each for each in made if isinstance(each, Claim))
        return Claims(tuple(claims), (*obstacles, *taken))

    def _kept(self, job: InferenceJob, reading: Reading) -> Claim | Obstacle:
        known = self._known.get(job.metadata.uid)
        same = known is not None and known[0] is job and known[1] is reading
        return known[2] if known and same else _claim(job, reading)


def _claim(job: InferenceJob, reading: Reading) -> Claim | Obstacle:
    """A job's claim on its target, or why it has none."""
    problem = _problem(reading)
    if problem is not None:
        return Obstacle(job, reading.reference, *problem)
    assert job.spec.target_ref is not None  # noqa: S101 - there is a reading of it
    try:
        role = target_role(reading, job.spec.target_ref)
        selector = selector_of(reading.scale.status.selector)
    except Exception as error:  # noqa: BLE001 - around one object: its job gets the error, others go on
        return senseless(job, reading, error)
    return Claim(job, reading, role, selector)


def senseless(job: InferenceJob, reading: Reading, error: Exception) -> Obstacle:
    """The obstacle posed by a target that makes no sense, from the error it raised."""
    said = " ".join(str(error).split())[:MOST_SELECTOR]
    if not isinstance(error, PlimsollError):
        said = f"no sense can be made of {reading.reference} ({type(error).__name__}: {said})"
    return Obstacle(job, reading.reference, Reason.INVALID_SPEC, said)


def _age(job: InferenceJob) -> tuple[float, bool, str]:
    """Oldest first; within the same second, the finest resolution known, the one already acting."""
    created = job.metadata.creation_timestamp
    seconds = created.timestamp() if created else 0.0
    return seconds, job.status.target is None, job.metadata.uid


def _taken(job: InferenceJob, reading: Reading, holder: str) -> Obstacle:
    text = f"{reading.reference} is the target of InferenceJob {holder} already: delete one"
    return Obstacle(job, reading.reference, Reason.AMBIGUOUS_SELECTOR, text)


def _problem(reading: Reading) -> tuple[Reason, str] | None:
    if reading.problem:
        return Reason.FAILED_GET_SCALE, reading.problem
    others = _left_to_kueue(reading)
    others = others or left_to_kserve(str(reading.reference), reading.workload.metadata)
    if others:
        return Reason.MANAGED_ELSEWHERE, others
    if not reading.scale.status.selector:
        text = f"the /scale of {reading.reference} names no selector of its pods"
        return Reason.FAILED_GET_SCALE, f"{text}: its kind must fill it in"
    if len(reading.scale.status.selector) > MOST_SELECTOR:
        text = f"the /scale of {reading.reference} names a selector of its pods that is too long"
        return Reason.INVALID_SPEC, f"{text}: it may have {MOST_SELECTOR} characters"
    return None


def _left_to_kueue(reading: Reading) -> str | None:
    """Why a workload is left to Kueue, by its own marks and those of its pods' templates."""
    what = str(reading.reference)
    found = left_to_kueue(what, reading.workload.metadata.labels)
    for template in reading.workload.templates:
        gates = (gate.name for gate in template.spec.scheduling_gates)
        part = f"the pod template of {what}"
        found = found or left_to_kueue(part, template.metadata.labels, gates=gates)
    return found


def _selects(claim: Claim, pod: Pod) -> bool:
    return is_of_groups(claim.reading) or matches(claim.selector, pod.metadata.labels)
