"""Jobs that target another controller's workload, seen as if the workload's role were theirs.

Such a job gets the role of the workload's template, the workload's pods, and the places where these
really are, so all planning for services applies to it too. If nothing can be done with the
workload, the job has no role, and the pods are unmanaged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import (
    InferenceJob,
    InferenceJobStatus,
    InferencePlacement,
    TargetStatus,
)
from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.kueue import left_to_kueue
from plimsoll.observe.snapshot import TARGET, NodeView, PodView, TargetView
from plimsoll.observe.targets.claims import Claim, Claims, Obstacle, senseless
from plimsoll.observe.targets.places import TargetPlaces, new_place, ordinal_of, target_places
from plimsoll.observe.targets.role import gpus_of, is_gated
from plimsoll.observe.views.pools import gpu_type_of, pool_of
from plimsoll.vocabulary.reasons import Reason

CONTEST_WINDOW = timedelta(minutes=10)
MOST_OVERRIDES = 3
"""How often others may set the count within that time before we leave it alone."""


PodsByJob = Mapping[str, Sequence[PodView]]


@dataclass(frozen=True, slots=True)
class Targeted:
    """A job with what is known of its target; `job` is as planning sees it."""

    job: InferenceJob
    target: TargetView
    pods: tuple[PodView, ...] = ()


Found = dict[str, Targeted]


def is_contested(times: Iterable[datetime], now: datetime) -> bool:
    """Whether others have set a workload's count so often of late that we leave it alone."""
    return sum(now - at < CONTEST_WINDOW for at in times) >= MOST_OVERRIDES


def refused(obstacle: Obstacle) -> Targeted:
    """A job with an unusable target: it has no role and no place."""
    problem = (obstacle.reason, obstacle.message)
    return Targeted(obstacle.job, TargetView(obstacle.reference, problem=problem))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The nodes on which targets' pods may be, and their pools."""

    nodes: Mapping[str, NodeView]
    pools: Sequence[GPUPool]

    def is_usable(self, nodes: Iterable[str]) -> bool:
        """Whether all these nodes exist and need not be vacated."""
        return all(name in self.nodes and self.nodes[name].state.usable for name in nodes)

    def part(self, names: Iterable[str]) -> tuple[NodeView | None, ...]:
        """The nodes of these names, None for those that do not exist."""
        return tuple(self.nodes.get(name) for name in names)

    def gpu_type(self, node: NodeView, resource: str) -> str:
        """The planning name of the GPUs that a node hands out under a resource; "" if none."""
        pool = pool_of(node, self.pools)
        offers = (offer for offer in node.offers if offer.resource == resource)
        return next((gpu_type_of(offer, node, pool) for offer in offers), "")


@dataclass(frozen=True, slots=True)
class _Facts:
    """All inputs to how a claim is seen."""

    claim: Claim
    pods: tuple[PodView, ...]
    nodes: tuple[NodeView | None, ...]
    pools: tuple[GPUPool, ...]
    contested: bool


def _facts(claim: Claim, pods: Iterable[PodView], ground: Surroundings, now: datetime) -> _Facts:
    target, mine = claim.job.status.target, tuple(pods)
    names = (*(pod.node or pod.wanted_node for pod in mine), *placed_nodes(claim.job))
    contested = target is not None and is_contested(target.overridden_times, now)
    return _Facts(claim, mine, ground.part(names), tuple(ground.pools), contested)


def targeted(facts: _Facts, ground: Surroundings) -> Targeted:
    """The job with the role and the places of its target."""
    claim, pods = facts.claim, facts.pods
    job, reading = claim.job, claim.reading
    resource, _ = gpus_of(reading.workload.pod_specs[0])
    kueues = _left_to_kueue(pods)
    if kueues:
        return refused(Obstacle(job, reading.reference, Reason.MANAGED_ELSEWHERE, kueues))
    strange = _strange(claim, pods, ground, resource)
    if strange:
        return refused(Obstacle(job, reading.reference, Reason.INVALID_SPEC, strange))
    view = _view(claim, pods, contested=facts.contested)
    found = _places_of(claim, view, pods, ground, resource)
    as_planned = {
        "spec": job.spec.model_copy(update={"roles": (claim.role,)}),
        "status": _as_seen(claim, found.places),
    }
    return Targeted(job.model_copy(update=as_planned), view, found.pods)


def _left_to_kueue(pods: Iterable[PodView]) -> str | None:
    """Why a pod, and with it the workload, is left to Kueue: it may mark no more than the pods."""
    there = (pod for pod in pods if not pod.is_over and not pod.deleting)
    said = (left_to_kueue(f"pod {pod.name}", pod.labels, gates=pod.gates) for pod in there)
    return next((each for each in said if each), None)


def _strange(claim: Claim, pods: Iterable[PodView], ground: Surroundings, resource: str) -> str:
    """A message if a pod runs on GPUs that no profile names, otherwise ""."""
    known = {profile.type for profile in claim.role.profiles}
    for pod in pods:
        node = ground.nodes.get(pod.node)
        if node is None or pod.is_over or pod.deleting:
            continue
        kind = ground.gpu_type(node, resource)
        if kind and kind not in known:
            return (
                f"pod {pod.name} runs on {pod.node}, which has {kind}: add that type to"
                " spec.targetRef.profiles, or keep the pods off it by their nodeSelector"
            )
    return ""


def _view(claim: Claim, pods: Iterable[PodView], *, contested: bool) -> TargetView:
    reading = claim.reading
    return TargetView(
        reference=reading.reference,
        replicas=reading.scale.spec.replicas,
        selector=reading.scale.status.selector,
        gated=is_gated(reading),
        ordered=any(ordinal_of(pod.labels) is not None for pod in pods),
        contested=contested,
        manager=reading.workload.manager,
    )


def _places_of(
    claim: Claim, view: TargetView, pods: Sequence[PodView], ground: Surroundings, resource: str
) -> TargetPlaces:
    status, target = claim.job.status, claim.job.status.target
    places = status.placement.assignments if status.placement else ()

    def keeps(place: Assignment) -> bool:
        return view.gated or ground.is_usable(place.nodes)

    def locate(nodes: Sequence[str]) -> Assignment | None:
        if len(nodes) != claim.role.pods_per_replica or not ground.is_usable(nodes):
            return None
        first = ground.nodes[nodes[0]]
        pool, kind = pool_of(first, ground.pools), ground.gpu_type(first, resource)
        name = pool.metadata.name if pool else ""
        return new_place(nodes, name, kind, status.revision + 1) if kind else None

    limit = view.replicas if target is None or view.contested else target.replicas
    mine = [place for place in places if place.role == TARGET]
    return target_places(mine, pods, limit=limit, keeps=keeps, locate=locate)


def _as_seen(claim: Claim, places: tuple[Assignment, ...]) -> InferenceJobStatus:
    """The status with the places that really exist; a target keeps its count."""
    status = claim.job.status
    if status.target is None:
        count = claim.reading.scale.spec.replicas
        found = TargetStatus(replicas=count, reached=True, found=count)
        status = status.model_copy(update={"target": found})
    before = status.placement
    if (before is None and not places) or (before is not None and before.assignments == places):
        return status
    revision = status.revision + 1
    generation = before.generation if before else None
    placement = InferencePlacement(revision=revision, generation=generation, assignments=places)
    return status.model_copy(update={"placement": placement, "revision": revision})


def placed_nodes(job: InferenceJob) -> tuple[str, ...]:
    """The nodes of a job's places."""
    placement = job.status.placement
    places = placement.assignments if placement else ()
    return tuple(name for place in places for name in place.nodes)


class Targets:
    """Views jobs by their targets; returns the same objects where nothing changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[InferenceJob, Targeted]] = {}
        self._facts: dict[str, tuple[_Facts, Targeted]] = {}

    def of(self, claims: Claims, pods: PodsByJob, ground: Surroundings, now: datetime) -> Found:
        """The jobs whose targets were read, by uid."""
        found = {
            each.job.metadata.uid: self._kept(each.job, refused(each)) for each in claims.obstacles
        }
        for claim in claims.claims:
            uid = claim.job.metadata.uid
            try:
                facts = _facts(claim, pods.get(uid, ()), ground, now)
                seen = self._seen(uid, facts, ground)
            except Exception as error:  # noqa: BLE001 - around one object: the others are seen
                seen = refused(senseless(claim.job, claim.reading, error))
            found[uid] = self._kept(claim.job, seen)
        self._known = {uid: known for uid, known in self._known.items() if uid in found}
        self._facts = {uid: known for uid, known in self._facts.items() if uid in found}
        return found

    def _seen(self, uid: str, facts: _Facts, ground: Surroundings) -> Targeted:
        known = self._facts.get(uid)
        if known is None or known[0] != facts:
            known = self._facts[uid] = (facts, targeted(facts, ground))
        return known[1]

    def _kept(self, job: InferenceJob, seen: Targeted) -> Targeted:
        known = self._known.get(job.metadata.uid)
        if known is None or known[0] is not job or known[1] != seen:
            known = self._known[job.metadata.uid] = (job, seen)
        return known[1]
