"""See a snapshot of the cluster as accounting does: who holds which GPUs, since when.

Names and numbers come from users and nodes. They are cut and bounded here, so that none of them
can keep a database from taking the rows of all others.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import Job
from plimsoll.api.parts.conditions import condition
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.queue_access import DEFAULT_QUEUE
from plimsoll.observe.snapshot import JobView, NodeView, PodView, Snapshot
from plimsoll.observe.views.pools import gpu_type_of
from plimsoll.planning.cluster.cluster import MOST_MICRODOLLARS
from plimsoll.planning.cluster.power_model import power_of
from plimsoll.planning.problem.build import wants_place
from plimsoll_console.ledger.accounting.observation import (
    Account,
    Devices,
    Holding,
    Level,
    Loss,
    Observation,
    Place,
    SeenNode,
    Wait,
)
from plimsoll_placement.model import WHOLE_GPU_MILLI

CREATED_BY: Final = "plimsoll.dev/created-by"
"""The annotation that names who created a job; admission policies write it."""
_MOST_LETTERS: Final = 512
_MOST_MILLI: Final = 100_000_000
_MOST_WATTS: Final = 10_000


def observation_of(snapshot: Snapshot, since_ms: int) -> Observation:
    """What accounting sees; pods that ended before `since_ms` are left out."""
    sight = _Sight(snapshot)
    for job in snapshot.jobs:
        sight.add(job, since_ms)
    nodes = tuple(sight.node(each) for each in snapshot.nodes if each.offers)
    return Observation(
        milliseconds(snapshot.now),
        nodes,
        tuple(sight.holdings),
        tuple(sight.waits),
        tuple(sight.losses),
    )


def milliseconds(time: datetime) -> int:
    """Since 1970."""
    return round(time.timestamp() * 1000)


def account_of(job: Job) -> Account:
    """Who is charged for a job."""
    meta = job.metadata
    return Account(
        job.kind,
        _text(meta.namespace),
        _text(meta.name),
        _text(meta.uid),
        _text(job.spec.queue or DEFAULT_QUEUE),
        _text(meta.annotations.get(CREATED_BY, "")),
    )


@dataclass(slots=True)
class _Home:
    """A node, its devices by their resource, and what jobs' pods hold of it and should."""

    view: NodeView
    devices: Mapping[str, Devices]
    units: Mapping[str, int]


class _Sight:
    """Collects what jobs hold, have reserved, wait for and have lost."""

    def __init__(self, snapshot: Snapshot) -> None:
        pools = snapshot.pool_by_node
        self._homes = {each.name: _home(each, pools.get(each.name)) for each in snapshot.nodes}
        self._reserved: dict[str, list[Level]] = defaultdict(list)
        self._now_ms = milliseconds(snapshot.now)
        self.holdings: list[Holding] = []
        self.waits: list[Wait] = []
        self.losses: list[Loss] = []

    def add(self, job: JobView, since_ms: int) -> None:
        """Add a job."""
        account = account_of(job.resource)
        held: dict[str, int] = defaultdict(int)
        for pod in job.pods:
            home = self._homes.get(pod.node)
            if home is None or not _is_known(pod, since_ms):
                continue
            for holding in _holdings(job, pod, account, home, self._now_ms):
                self.holdings.append(holding)
                held[pod.node] += holding.milli if holding.ends_ms is None else 0
        if not job.is_over:
            self._add_reserved(job, account, held)
            self.waits.extend(_waits(job, account))
        self.losses.extend(
            Loss(account, milliseconds(each.time), each.gpu_seconds * WHOLE_GPU_MILLI * 1000)
            for each in job.lost_work
        )

    def node(self, view: NodeView) -> SeenNode:
        """A node with what is reserved and taken of it."""
        home, meta = self._homes[view.name], view.node.metadata
        created = meta.creation_timestamp
        others = (
            Level(name, min(count * home.units[name], _MOST_MILLI))
            for name, count in view.unmanaged_units.items()
            if name in home.units and count > 0
        )
        return SeenNode(
            meta.uid,
            milliseconds(created) if created else self._now_ms,
            tuple(home.devices.values()),
            view.state.open,
            (*self._reserved[view.name], *others),
        )

    def _add_reserved(self, job: JobView, account: Account, held: Mapping[str, int]) -> None:
        """Add what a job's placement has beyond what its pods hold already."""
        placed: dict[tuple[str, str], int] = defaultdict(int)
        placement, milli = job.resource.status.placement, job.resource.spec.milli_gpus_by_role
        for each in placement.assignments if placement else ():
            for name in each.nodes:
                placed[name, each.accelerator_type] += milli.get(each.role, 0)
        for (name, gpu_type), amount in placed.items():
            home, missing = self._homes.get(name), amount - held.get(name, 0)
            for devices in home.devices.values() if home and missing > 0 else ():
                if devices.place.gpu_type == gpu_type:
                    self._reserved[name].append(Level(devices.resource, missing, account))
                    break


def _home(view: NodeView, pool: GPUPool | None) -> _Home:
    devices = {offer.resource: _devices(offer, view, pool) for offer in view.offers}
    return _Home(view, devices, {offer.resource: offer.share_milli for offer in view.offers})


def _devices(offer: Offer, view: NodeView, pool: GPUPool | None) -> Devices:
    power = power_of(pool) if pool else None
    place = Place(
        _text(gpu_type_of(offer, view, pool)),
        pool.metadata.name if pool else "",
        pool.spec.capacity_type if pool else "",
        offer.share_milli,
        _microdollars(pool) if pool else 0,
    )
    milli = offer.count * WHOLE_GPU_MILLI
    if power is None:
        return Devices(offer.resource, place, milli)
    idle, busy = (min(each, _MOST_WATTS) for each in (power.idle_watts, power.typical_watts))
    return Devices(offer.resource, place, milli, idle, busy)


def _microdollars(pool: GPUPool) -> int:
    """The stated price of a GPU-hour; else the one that the operator found for its plans."""
    found = pool.status.provisioning
    price = pool.spec.price_per_gpu_hour or (found and found.price_per_gpu_hour) or 0
    return min(int(price * 1_000_000), MOST_MICRODOLLARS)


def _is_known(pod: PodView, since_ms: int) -> bool:
    """Whether a pod holds GPUs, or is known to have held them until some time after then."""
    if not pod.is_over:
        return True
    return pod.finished is not None and milliseconds(pod.finished) >= since_ms


def _holdings(
    job: JobView, pod: PodView, account: Account, home: _Home, now_ms: int
) -> Iterator[Holding]:
    """What a pod holds of its node, by resource."""
    started = pod.started or pod.created
    since = milliseconds(started) if started else now_ms
    for resource, count in pod.requests.others.items():
        if resource not in home.devices or count <= 0:
            continue
        yield Holding(
            f"{pod.uid}/{resource}",
            home.view.node.metadata.uid,
            resource,
            min(count * home.units[resource], _MOST_MILLI),
            account,
            since,
            _works_ms(job, pod, since),
            _leaves_ms(pod, now_ms),
            milliseconds(pod.finished) if pod.finished else None,
            _watts(job.resource, pod, home.devices[resource]),
        )


def _works_ms(job: JobView, pod: PodView, since_ms: int) -> int | None:
    """From when a pod's time is useful: a gang's once all workers are ready, others' once it is."""
    began = job.training.status.started_time if job.training else None
    if began is not None and milliseconds(began) >= since_ms:
        return milliseconds(began)
    if job.training is not None and began is None and pod.phase != "Succeeded":
        return None
    if pod.ready and pod.ready_since is not None:
        return max(since_ms, milliseconds(pod.ready_since))
    # It was ready before it ended, and no longer tells when that began.
    return since_ms if pod.is_over or pod.served else None


def _leaves_ms(pod: PodView, now_ms: int) -> int | None:
    """From when a pod does no more work; one being deleted does not tell since when it is."""
    if pod.draining_since is not None:
        return milliseconds(pod.draining_since)
    return now_ms if pod.deleting and not pod.is_over else None


def _watts(job: Job, pod: PodView, devices: Devices) -> int:
    """The draw of a whole GPU: as measured on the job's own pods, else as usual in the pool."""
    measured = (each.measured_watts for each in job.status.power if each.role == pod.role)
    return min(next(measured, devices.busy_watts), _MOST_WATTS)


def _waits(job: JobView, account: Account) -> Iterator[Wait]:
    """The job's wait, if it waits or has got a place."""
    resource, status = job.resource, job.resource.status
    milli = min(_asked_milli(resource), _MOST_MILLI)
    created = resource.metadata.creation_timestamp
    if created is None or not milli:
        return
    place = Place(_text(next(iter(_gpu_types(resource)), "")))
    if status.placement is None and wants_place(job):
        admitted = condition(status.conditions, "Admitted")
        since = admitted.last_transition_time if admitted and status.revision else created
        yield Wait(account, place, milli, milliseconds(since), status.revision)
    elif status.placement is not None and status.admitted_time is not None:
        until = milliseconds(status.admitted_time)
        since_ms = milliseconds(created) if status.revision == 1 else until
        yield Wait(account, place, milli, since_ms, status.revision, until)


def _asked_milli(job: Job) -> int:
    """The milli-GPUs without which a job does not start."""
    if isinstance(job, TrainingJob):
        beside = sum(role.milli_gpus_per_replica * role.replicas.min for role in job.spec.roles)
        return job.spec.workers.min * job.spec.workers.milli_gpus_per_worker + beside
    return sum(
        role.milli_gpus_per_pod * role.pods_per_replica * role.replicas.min
        for role in job.spec.roles
    )


def _gpu_types(job: Job) -> Iterable[str]:
    """The GPU types that a job names, the first one first."""
    if isinstance(job, TrainingJob):
        return (each.type for each in job.spec.accelerators)
    return (each.type for role in job.spec.roles for each in role.profiles)


def _text(name: str) -> str:
    return name.replace("\0", "")[:_MOST_LETTERS]
