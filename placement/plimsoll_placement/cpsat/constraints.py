"""What must hold: one function per rule; each docstring is the rule as a planner would put it."""

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from math import lcm

from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.builder import ModelBuilder
from plimsoll_placement.cpsat.capacity import (
    gangs_find_domains,
    node_classes_suffice,
    shapes_find_room,
    stays_fit_their_nodes,
)
from plimsoll_placement.cpsat.sums import Sum, at_least, at_most
from plimsoll_placement.cpsat.usage import held
from plimsoll_placement.cpsat.variables import GroupVariables
from plimsoll_placement.model import DomainName
from plimsoll_placement.score.budget import always_counted
from plimsoll_placement.score.worth import WHOLE_PERCENT


def each_gang_runs_in_one_way(builder: ModelBuilder) -> None:
    """A gang stays as it is, runs anew by one option, or waits."""
    for own in builder.variables.job_classes:
        if own.service is None:
            at_most(builder.model, Sum().add(own.gangs), own.job_class.size)


def gangs_grow_from_their_least_size(builder: ModelBuilder) -> None:
    """A gang takes a step of growth only after all earlier steps."""
    for fresh in builder.variables.fresh:
        if fresh.runs is None:
            continue
        steps = (1, *(segment.steps for segment in fresh.option.segments))
        chain = zip((fresh.runs, *fresh.growth), steps, strict=True)
        for (before, low), (after, high) in pairwise(chain):
            at_most(builder.model, Sum().add([(after, low), (before, -high)]), 0)


def replicas_are_between_least_and_most(builder: ModelBuilder) -> None:
    """A running service has at least the least and at most the most replicas of each role."""
    model = builder.model
    for own, service in builder.variables.services:
        for role in own.job_class.job.roles:
            replicas = own.replicas(role).terms
            at_least(model, Sum().add(replicas).add([(service.runs, -role.least)]), 0)
            at_most(model, Sum().add(replicas).add([(service.runs, -role.counts[-1])]), 0)


def no_more_is_served_than_carried_or_wanted(builder: ModelBuilder) -> None:
    """A role serves what its replicas carry, up to the load."""
    model = builder.model
    for own, service in builder.variables.services:
        for role, served in zip(own.job_class.job.roles, service.served, strict=True):
            carried = own.carried(role).terms
            at_most(model, Sum().add([(served, role.fineness)]).add(carried, -1), 0)
            at_most(model, Sum().add([(served, 1), (service.runs, -role.wanted_milli)]), 0)
            if role.wanted_count:
                part = Sum().add([(served, role.wanted_count)])
                part.add(own.replicas(role).terms, -role.wanted_milli)
                at_most(model, part, 0)
        parts = [(served, -1) for served in service.served]
        at_most(model, Sum().add([(service.kept, 1)]).add(parts), 0)


def spot_shares_hold(builder: ModelBuilder) -> None:
    """No more of a job's replicas are on spot nodes than its largest share."""
    for own in builder.variables.job_classes:
        job = own.job_class.job
        counted = job.roles[:1] if job.gang else job.roles
        parts = lcm(*(role.pods_per_replica for role in counted))
        on_spot = _on_spot(builder.relaxation, own, parts)
        if job.spot_percent < WHOLE_PERCENT and on_spot.variables:
            over = Sum().add(on_spot.terms, WHOLE_PERCENT)
            over.add(_spot_hundredths(own).terms, -parts)
            at_most(builder.model, over, 0)


def _spot_hundredths(own: GroupVariables) -> Sum:
    """Hundredths of the replicas that may be on spot; in whole replicas for gangs of one size."""
    total, percent = Sum(), own.job_class.job.spot_percent
    for fresh in own.fresh:
        if fresh.runs is not None and not fresh.growth:
            whole = fresh.option.least * percent // WHOLE_PERCENT
            total.add([(fresh.runs, whole * WHOLE_PERCENT)])
        else:
            total.add(fresh.replicas.terms, percent)
    for kept in own.kept:
        total.add([(kept.units, percent * kept.stay.replicas)])
    return total


def _on_spot(relaxation: Relaxation, own: GroupVariables, parts: int) -> Sum:
    """Replicas on spot nodes, in `parts` parts each; one with pods elsewhere too counts in part."""
    on_spot = Sum()
    for fresh in own.fresh:
        for pods in fresh.pods:
            if relaxation.node_classes.node_classes[pods.node_class].node.spot:
                on_spot.add(pods.count.terms, parts // fresh.role.pods_per_replica)
    for kept in own.kept:
        on_spot.add([(kept.units, kept.stay.spot_replicas * parts)])
    return on_spot


def queues_stay_within_limits(builder: ModelBuilder) -> None:
    """A queue and all its descendants together stay within its limit of each GPU type."""
    usage = held(builder.relaxation, builder.variables)
    for queue in builder.relaxation.problem.queues:
        for gpu_type, limit in queue.limit.items():
            total = usage.total.get((queue.name, gpu_type))
            if total is not None:
                left = max(0, limit - usage.pinned.get((queue.name, gpu_type), 0))
                at_most(builder.model, total, left)


def power_stays_within_budgets(builder: ModelBuilder) -> None:
    """The expected draw of a power domain stays within its budget."""
    drawn: dict[DomainName, Sum] = defaultdict(Sum)
    nodes = builder.relaxation.problem.nodes
    for fresh in builder.variables.fresh:
        for pods in fresh.pods:
            node = builder.relaxation.node_classes.node_classes[pods.node_class].node
            for domain in node.power_domains:
                microwatts = fresh.role.shape.draw_milli * node.busy_milliwatts
                drawn[domain].add(pods.count.terms, microwatts)
    for kept in builder.variables.kept:
        for load in kept.stay.loads:
            node = nodes[load.row]
            for domain in node.power_domains:
                microwatts = load.pods * load.shape.draw_milli * node.busy_milliwatts
                drawn[domain].add([(kept.units, microwatts)])
    for domain, left in builder.relaxation.power_left().items():
        at_most(builder.model, drawn[domain], left)


def losses_stay_within_the_budget(builder: ModelBuilder) -> None:
    """Running gangs lose no more than the disruption budget allows, beyond the baseline."""
    problem = builder.relaxation.problem
    if problem.loss_allowance is None:
        return
    counted, most, total = always_counted(problem), problem.loss_allowance, Sum()
    for own in builder.variables.job_classes:
        losses = [counted.get(job.name, 0) for job in own.job_class.jobs]
        for kept in own.kept if own.service is None else ():
            most -= sum(losses)
            total.add([(kept.units, -max(losses))])
    at_most(builder.model, total, most)


CONSTRAINTS: tuple[Callable[[ModelBuilder], None], ...] = (
    each_gang_runs_in_one_way,
    gangs_grow_from_their_least_size,
    replicas_are_between_least_and_most,
    no_more_is_served_than_carried_or_wanted,
    spot_shares_hold,
    queues_stay_within_limits,
    power_stays_within_budgets,
    losses_stay_within_the_budget,
    node_classes_suffice,
    shapes_find_room,
    gangs_find_domains,
    stays_fit_their_nodes,
)
"""All of them; those on nodes are in `capacity.py`."""


def constrain(builder: ModelBuilder) -> None:
    """Add all constraints to a model."""
    for constraint in CONSTRAINTS:
        constraint(builder)
