"""Group request sizes so that those cheapest to serve together share replicas, by prices.

It is decided when a load is measured and stored in the status, so that plans only read it. Supply
plays no part: a group whose GPU type is short gets others through the plan.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import BucketLoad, InferenceJob
from plimsoll.api.parts.roles import ANY_SIZE, BUCKET_LABEL, Role
from plimsoll.planning.serving.replicas import capacities
from plimsoll_placement.estimate.mix.carriers import (
    Carriers,
    cheapest_carriers,
    cost_of,
    replicas_of,
)
from plimsoll_placement.estimate.mix.problem import Model, ModelName, Option, PoolName

LEAST_SAVING_PERCENT: Final = 10
"""The least saving for which groups are made or remade: groups cannot help each other out."""
MOST_TYPES: Final = 8
_MICRO: Final = 1_000_000

Prices = Mapping[str, int]
"""Micro-dollars per GPU and hour, by GPU type, where known."""


def prices_of(pools: Iterable[GPUPool], role: Role) -> Prices:
    """The prices of the GPUs that a role may use, each type at its cheapest."""
    found: dict[str, int] = {}
    for pool in pools:
        kind = pool.spec.gpu_type or pool.status.gpu_type
        price = int(pool.spec.price_per_gpu_hour * _MICRO)
        if kind and price and (role.spot.allowed or pool.spec.capacity_type != "Spot"):
            found[kind] = min(price, found.get(kind, price))
    return found


def grouped(
    job: InferenceJob, role: Role, loads: Sequence[BucketLoad], pools: Iterable[GPUPool]
) -> tuple[BucketLoad, ...]:
    """The loads, each with the group of replicas that carries it; unchanged unless that saves."""
    if role.requests == "Anywhere" or not _may_part(job, role, loads):
        return _in_groups(loads, None)
    prices = prices_of(pools, role)
    kinds = sorted({p.type for p in role.profiles} & prices.keys(), key=lambda k: prices[k])
    model = _model(job, role, loads, kinds[:MOST_TYPES], prices)
    best, before = cheapest_carriers(model), _as_before(model, loads)
    if best is None or (before is not None and not _saves(model, best, before)):
        return tuple(loads)
    one = _cheapest_alone(model)
    counts = replicas_of(model, best) or {}
    if sum(counts.values()) > role.replicas.max or (one and not _saves(model, best, one)):
        return _in_groups(loads, None)
    return _in_groups(loads, [model.options[place].pool for place in best])


def _may_part(job: InferenceJob, role: Role, loads: Sequence[BucketLoad]) -> bool:
    pinned = role is job.spec.roles[0] and job.spec.replicas is not None
    several = sum(bool(load.wanted) for load in loads) > 1
    return several and not pinned and all(re.fullmatch(BUCKET_LABEL, each.bucket) for each in loads)


def _in_groups(loads: Sequence[BucketLoad], names: Sequence[str] | None) -> tuple[BucketLoad, ...]:
    """The loads with these groups; with none if there is only one."""
    wanted = [n for n, load in zip(names, loads, strict=True) if load.wanted] if names else []
    if names is None or len(set(wanted)) == 1:
        return tuple(load.model_copy(update={"size_group": None}) for load in loads)
    return tuple(
        load.model_copy(update={"size_group": name})
        for load, name in zip(loads, names, strict=True)
    )


def _model(
    job: InferenceJob,
    role: Role,
    loads: Sequence[BucketLoad],
    kinds: Sequence[str],
    prices: Prices,
) -> Model:
    known = capacities(job, role)

    def carries(kind: str, bucket: str) -> int:
        return int((known.get((kind, bucket)) or known.get((kind, ANY_SIZE)) or 0.0) * _MICRO)

    options = (
        Option(
            pool=PoolName(kind),
            gpus=1,
            microdollars=int(prices[kind] * role.gpus_per_replica),
            carries=tuple(carries(kind, load.bucket) for load in loads),
        )
        for kind in kinds
    )
    wanted = tuple(int(load.wanted * _MICRO) for load in loads)
    return Model(ModelName(role.name), wanted, tuple(options))


def _as_before(model: Model, loads: Sequence[BucketLoad]) -> Carriers | None:
    """What carries the loads in their current groups; None if they have no group with a type."""
    places = {option.pool: place for place, option in enumerate(model.options)}
    names = [PoolName(load.size_group or "") for load in loads]
    if not all(name in places for name in names):
        return None
    return tuple(places[name] for name in names)


def _cheapest_alone(model: Model) -> Carriers | None:
    """The type that carries all sizes alone most cheaply; None if there is none."""
    found = [
        (cost, place)
        for place in range(len(model.options))
        if (cost := cost_of(model, (place,) * len(model.loads))) is not None
    ]
    return (min(found)[1],) * len(model.loads) if found else None


def _saves(model: Model, carriers: Carriers, than: Carriers) -> bool:
    """Whether one is cheaper than another by at least the required saving."""
    less, more = cost_of(model, carriers), cost_of(model, than)
    return less is not None and (more is None or 100 * less <= (100 - LEAST_SAVING_PERCENT) * more)
