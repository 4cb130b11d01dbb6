"""The power domains: what they draw, what they may, and whom caps slow down."""

from plimsoll.api.parts.conditions import condition
from plimsoll.api.power_domain import PowerDomain
from plimsoll_console.messages.power import DomainState, Power
from plimsoll_console.views.sight import Sight, named_key
from plimsoll_console.views.stamps import Stamp


def power_of(sight: Sight, stamp: Stamp) -> Power:
    """The power domains by name; none where they may not be seen."""
    domains = sight.snapshot.power_domains if sight.rights.power_domains else ()
    return Power(*stamp, domains=tuple(_state(sight, domain) for domain in domains))


def _state(sight: Sight, domain: PowerDomain) -> DomainState:
    status = domain.status
    within = condition(status.conditions, "WithinBudget")
    payers = [name for name in status.payers if sight.named(name)]
    return DomainState(
        name=domain.metadata.name,
        budget_watts=domain.spec.budget_watts,
        planned_watts=status.budget_watts,
        expected_watts=status.expected_watts,
        measured_watts=status.measured_watts,
        capped_watts=status.capped_watts,
        capped_nodes=status.capped_nodes,
        nodes=status.nodes,
        within_budget=None if within is None else within.status == "True",
        reason=within.reason if within else "",
        message=sight.text(within.message) if within else "",
        payers=tuple(map(named_key, payers)),
        others=len(status.payers) - len(payers),
    )
