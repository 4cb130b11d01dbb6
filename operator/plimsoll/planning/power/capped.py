"""The power draw of jobs in plans that count on GPU power caps: less, at some loss of speed.

Where the policy allows it, jobs of low priority count with what they draw when a cap costs them the
share of their speed that the policy names, so that more of them find power. Which GPUs are then
really capped, and how far, depends on the draw expected of the plan, lowest priority first: while
there is enough power, none are. Pools whose GPUs cannot be capped that far count with what they can
save.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.cluster.power_model import WHOLE_PERCENT, Utilization, power_of
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll_placement.estimate.capping.throughput import EXPONENTS, watts_for_share
from plimsoll_placement.model import Job, Role
from plimsoll_placement.problem import Problem

CAP: Final = "Cap"


def capped_draws(problem: Problem, snapshot: Snapshot) -> Adjustment:
    """What jobs draw under the caps that plans may count on.

    Nothing undoes this: `uncapped_draw_milli` keeps what a role draws without caps.
    """
    if snapshot.policy is None or not snapshot.power_domains:
        return Adjustment()
    capping = snapshot.policy.spec.capping
    may_cap = all(CAP in each.spec.reaction.order for each in snapshot.power_domains)
    if not capping.max_loss_percent or not may_cap:
        return Adjustment()
    share = 1 - capping.max_loss_percent / WHOLE_PERCENT
    low = (job for job in problem.jobs if job.priority < capping.below_priority)
    return Adjustment(jobs={job.name: _capped(job, share, snapshot) for job in low})


def _capped(job: Job, share: float, snapshot: Snapshot) -> Job:
    view = snapshot.job_by_name[JobName(job.whole_name)]
    return replace(job, roles=tuple(_role(role, share, view, snapshot.pools) for role in job.roles))


def _role(role: Role, share: float, view: JobView, pools: Iterable[GPUPool]) -> Role:
    shape, exponent = role.shape, EXPONENTS[utilization_of(view, role.name)]
    use = shape.draw_milli / max(shape.gpu_milli, 1)
    left = max((_draw_left(each, use, exponent, share) for each in pools), default=1.0)
    draws = replace(shape, draw_milli=-int(-shape.draw_milli * left // 1))
    return replace(role, shape=draws, uncapped_draw_milli=shape.draw_milli)


def utilization_of(view: JobView, role: str) -> Utilization:
    """What a role of a job uses its GPUs for."""
    if view.inference is None:
        return "Training"
    name, _ = whole_role(role)
    mine = (each for each in view.inference.spec.roles if each.name == name)
    spec = next(mine, None)
    return "Mixed" if spec is None or spec.utilization is None else spec.utilization


def _draw_left(pool: GPUPool, use: float, exponent: float, share: float) -> float:
    """The part of the draw above idle that is left under the cap that leaves `share` of the speed.

    `use` is the uncapped draw above idle, relative to that of a GPU in typical use.
    """
    power = power_of(pool)
    if power is None:
        return 0.0
    if power.min_cap_watts is None:
        return 1.0
    idle = power.idle_watts
    draw = idle + (power.typical_watts - idle) * use
    if draw <= idle:
        return 1.0
    cap = watts_for_share(share, idle_watts=idle, draw_watts=draw, exponent=exponent)
    return min(1.0, (max(cap, power.min_cap_watts) - idle) / (draw - idle))
