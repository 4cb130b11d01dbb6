"""The watts that plans may give out in each power domain: its budget, or temporarily less or more.

Less, if more is drawn than was expected and caps did not help: the status then says how many watts.
More, if the budget was lowered below what runs, for example when a feed is lost: what caps can save
is left to caps, and nothing new is admitted; the rest exceeds the budget, so plans shrink and
preempt jobs for it. Steps that a domain's `reaction` does not name are not taken.
"""

from dataclasses import replace

from plimsoll.api.power_domain import PowerDomain
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.cluster.power_model import MILLIWATTS, powered_nodes, reserve_milliwatts
from plimsoll.planning.power.loads import (
    Uses,
    counted_milliwatts,
    planned_milliwatts,
    servers_of,
    uses_of,
)
from plimsoll_placement.estimate.capping.control import savable_watts
from plimsoll_placement.model import DomainName
from plimsoll_placement.problem import Problem


def planned_budgets(problem: Problem, snapshot: Snapshot) -> Adjustment:
    """The domains with the budgets that plans keep to now."""
    if not problem.power_domains:
        return Adjustment()
    uses, specs = uses_of(problem), {d.metadata.name: d for d in snapshot.power_domains}
    planned, counted = planned_milliwatts(problem, uses), counted_milliwatts(problem, uses)

    def budget(name: DomainName) -> int:
        relied_on = counted[name] - planned[name]
        return _planned(specs[name], planned[name], relied_on, snapshot, uses)

    domains = (replace(d, budget_milliwatts=budget(d.name)) for d in problem.power_domains)
    return Adjustment(power_domains={domain.name: domain for domain in domains})


def _planned(
    domain: PowerDomain, planned: int, relied_on: int, snapshot: Snapshot, uses: Uses
) -> int:
    """What plans may give out; `relied_on` is what caps must already save of `planned`."""
    reduced, order = domain.status.reduced_watts, domain.spec.reaction.order
    budget = domain.spec.budget_watts * MILLIWATTS
    if planned > budget and not {"Shrink", "Preempt"} & {*order}:
        return planned
    if planned > budget and order[0] == "Cap":
        saved = caps_save_milliwatts(domain, snapshot, uses) - relied_on
        budget = min(planned, budget + max(0, saved))
    return budget if reduced is None else min(budget, reduced * MILLIWATTS)


def caps_save_milliwatts(domain: PowerDomain, snapshot: Snapshot, uses: Uses) -> int:
    """What the lowest caps save of what is counted without any.

    If all GPUs in use can be capped, none exceeds its cap, so the reserve is saved as well.
    """
    servers = [
        replace(server, cap_watts=None, measured_watts=None)
        for server in servers_of(snapshot, snapshot.nodes_by_domain[domain.metadata.name], uses)
    ]
    saved = MILLIWATTS * savable_watts(sum(s.gpus * s.draw_watts for s in servers), servers)
    if any(server.gpus and server.min_cap_watts is None for server in servers):
        return saved
    return saved + reserve_milliwatts(domain, powered_nodes(domain, snapshot))
