"""What a policy says of the console's ledger."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.api.parts.conditions import condition
from plimsoll.api.placement_policy import PlacementPolicyStatus
from plimsoll.observe.measured.ledger import LedgerReading
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_policy

LONG_AGO = NOW - timedelta(minutes=16)
BEHIND = (
    "{} is in the ledger, which catches up when it can; plans go on meanwhile; the console's log"
    " says what is wrong"
)


def after(reading: LedgerReading | None, before: Any = None) -> PlacementPolicyStatus:  # noqa: ANN401 - of a manifest
    """The policy's status after a turn that knew so much of the ledger."""
    snapshot = replace(seen({**a_policy(), "status": before or {}}), ledger=reading)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    plan = plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem, Effort())))
    [(_, status)] = cluster_statuses(snapshot, plan_input.problem, plan, ())
    assert isinstance(status, PlacementPolicyStatus)
    return status


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (LedgerReading(NOW - timedelta(minutes=15)), ("True", "LedgerWritten", None)),
        (
            LedgerReading(LONG_AGO),
            (
                "False",
                "LedgerBehind",
                BEHIND.format(f"nothing since {LONG_AGO:%Y-%m-%dT%H:%M:%SZ}"),
            ),
        ),
        (
            LedgerReading(empty_since=NOW - timedelta(minutes=15)),
            (
                "Unknown",
                "LedgerUnknown",
                "nothing is in the ledger yet; the console writes it once a minute",
            ),
        ),
        (
            LedgerReading(empty_since=LONG_AGO),
            ("False", "LedgerBehind", BEHIND.format("nothing")),
        ),
        (
            LedgerReading(problem="its Lease cannot be read: forbidden"),
            ("Unknown", "LedgerUnknown", "its Lease cannot be read: forbidden"),
        ),
    ],
)
def test_the_condition_says_how_far_the_ledger_goes(
    reading: LedgerReading, said: tuple[str, str, str | None]
) -> None:
    found = condition(after(reading).conditions, "LedgerCurrent")
    assert found is not None
    assert (found.status, found.reason) == said[:2]
    assert said[2] in (None, found.message)


def test_where_no_ledger_is_kept_any_more_the_condition_goes() -> None:
    status = after(LedgerReading())
    assert condition(status.conditions, "LedgerCurrent") is not None
    status = after(None, status.wire())
    assert [each.type for each in status.conditions] == ["Planned"]
