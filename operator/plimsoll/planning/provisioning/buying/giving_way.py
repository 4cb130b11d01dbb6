"""Gangs that give way to services, and go to nodes that cost less than those these would need.

A service may lack a GPU of the only type that it runs on while training holds one, for which
another type would do as well.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from plimsoll.planning.cluster.fixed_size import assignments_of_role, of_one_size
from plimsoll.planning.provisioning.buying.offers import (
    Offer,
    bought,
    is_no_worse,
    node_names,
    with_fewer,
)
from plimsoll.planning.provisioning.future_nodes import hourly_price
from plimsoll.planning.provisioning.moves import gained_by_moves, worth_of_dollars
from plimsoll_placement.model import Job, JobName, NodeName, Placements
from plimsoll_placement.problem import Problem


def movable_gangs(running: Iterable[Job], problem: Problem) -> Mapping[JobName, Job]:
    """The gangs that may give way to a service which waits in a problem, as large as they are.

    These are the less important ones.
    """
    services = (job.priority for job in problem.jobs if not job.gang and not job.running)
    most = max(services, default=None)
    return {
        job.name: of_one_size(job, job.running)
        for job in running
        if most is not None and job.priority < most and _may_move(job)
    }


def with_movable_gangs(offer: Offer, found: Placements) -> Offer:
    """The same where gangs may give way, and nothing is for sale that was `found` for services."""
    services = [job for job in offer.problem.jobs if not job.gang and not job.running]
    taken = {name for job in services for name in node_names(found.get(job.name, ()))}
    dear = {pool.metadata.name for name, pool in offer.to_buy.items() if name in taken}
    names = (pool.metadata.name for pool in offer.to_buy.values())
    jobs = tuple(offer.movable.get(job.name, job) for job in offer.problem.jobs)
    allowed = replace(offer, problem=replace(offer.problem, jobs=jobs))
    return with_fewer(allowed, Counter(name for name in names if name not in dear))


def is_cheaper(offer: Offer, moved: Placements, found: Placements) -> bool:
    """Whether it costs less that gangs have `moved`, all in all, than what was `found` without.

    Somebody must move onto a node that is still to come: what can move without is for a plan.
    """
    movers = [job for job in offer.movable.values() if moved.get(job.name, ()) != job.running]
    if not is_no_worse(offer, moved, found):
        return False
    if any(len(moved.get(job.name, ())) != len(job.running) for job in movers):
        return False
    if offer.future.keys().isdisjoint(_nodes(movers, moved)):
        return False
    saved = _dollars(offer, found) - _dollars(offer, moved)
    worth = worth_of_dollars(offer.problem, saved)
    return saved > 0 and worth + gained_by_moves(offer.problem, movers, moved) > 0


def _may_move(job: Job) -> bool:
    is_whole = all(len(assignments_of_role(r, job.running)) in r.counts for r in job.roles)
    return job.gang and job.is_running and not job.pinned and job.knows_its_roles and is_whole


def _nodes(jobs: Iterable[Job], placements: Placements) -> set[NodeName]:
    return {name for job in jobs for name in node_names(placements[job.name])}


def _dollars(offer: Offer, placements: Placements) -> float:
    """What the nodes cost an hour that would have to be bought."""
    prices = {pool.metadata.name: hourly_price(pool) for pool in offer.to_buy.values()}
    return float(sum(prices[name] * count for name, count in bought(offer, placements).items()))
