"""The power domains."""

from plimsoll_console.messages.base import Message, Stamped
from plimsoll_console.messages.keys import JobKey


class DomainState(Message, frozen=True):
    """A power domain. `payers` are the capped jobs that the user may see; `others`, how many not.

    `reason` and `message` are those of its condition `WithinBudget`.
    """

    name: str
    budget_watts: int
    planned_watts: int
    expected_watts: int
    measured_watts: int | None
    capped_watts: int | None
    capped_nodes: int
    nodes: int
    within_budget: bool | None
    reason: str
    message: str
    payers: tuple[JobKey, ...]
    others: int


class Power(Stamped, frozen=True):
    """The power domains by name; none where the user may not see them."""

    domains: tuple[DomainState, ...]
