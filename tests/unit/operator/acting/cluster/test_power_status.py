from collections.abc import Iterator

import pytest

from plimsoll.acting.cluster.power_status import power_events, power_status
from plimsoll.api.parts.conditions import condition
from plimsoll.api.power_domain import PowerDomainStatus
from plimsoll.observe.snapshot import Snapshot
from plimsoll_devcluster.manifest import Manifest
from support.problems.power_cases import a_domain, a_node, a_reading, reaction_to, row

WANTED = {"power_cap_watts": "440"}


def status_of(snapshot: Snapshot) -> PowerDomainStatus:
    return power_status(reaction_to(snapshot), snapshot)


def words(status: PowerDomainStatus, kind: str) -> tuple[str, str, str]:
    found = condition(status.conditions, kind)
    assert found is not None
    return found.status, found.reason, found.message


def reasons(old: PowerDomainStatus, new: PowerDomainStatus) -> Iterator[tuple[str, bool]]:
    return ((reason.value, warning) for reason, _, warning in power_events(old, new))


def test_a_domain_says_what_it_draws_who_is_capped_and_who_pays() -> None:
    nodes = a_node("n-1", **WANTED, power_limit_watts="440,440,440,440"), a_node("n-2")
    status = status_of(row(a_domain(), *nodes, power=a_reading(4100, n_1=1700, n_2=2400)))
    assert (status.nodes, status.measured_watts, status.expected_watts) == (2, 4100, 4000)
    assert (status.capped_nodes, status.payers) == (1, ("TrainingJob/team/batch",))
    assert status.capped_watts is not None
    assert status.capped_watts > 0
    expected = ("True", "WithinBudget", "the measured draw is 4100 W of 4500 W")
    assert words(status, "WithinBudget") == expected
    assert words(status, "PowerMeasured")[:2] == ("True", "PowerMeasured")
    assert words(status, "CapsApplied")[:2] == ("True", "CapsApplied")


def test_an_overshoot_is_reported_and_what_plans_keep_to() -> None:
    reduced = {"reducedWatts": 3000}
    status = status_of(row(a_domain(4500, reduced), power=a_reading(4800)))
    said = "the measured draw is 4800 W of 4500 W; plans keep to 3000 W"
    assert words(status, "WithinBudget") == ("False", "PowerOvershoot", said)
    blind = status_of(row(a_domain(3500), power=a_reading(problem="no answer")))
    assert words(blind, "PowerMeasured") == ("False", "PowerUnknown", "no answer")


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (a_node("n-1", **WANTED), ("CapsPending", "n-1: no agent has reported limits there")),
        (
            a_node("n-1", **WANTED, power_limit_watts="600,440,440,440"),
            ("CapsPending", "n-1: the limits are not set yet"),
        ),
        (
            a_node("n-1", **WANTED, power_limit_watts="440,,440,440", power_limit_problem="lost"),
            ("CapRefused", "n-1: lost"),
        ),
    ],
    ids=["no agent", "not yet", "a GPU is lost"],
)
def test_caps_that_are_not_set_are_reported(node: Manifest, said: tuple[str, str]) -> None:
    status = status_of(row(a_domain(), node, a_node("n-2"), power=a_reading(4400)))
    assert words(status, "CapsApplied") == ("False", *said)


def test_what_is_new_becomes_events() -> None:
    quiet = status_of(row(a_domain(), power=a_reading(4000)))
    assert list(power_events(PowerDomainStatus(), quiet)) == []
    node = a_node("n-1", **WANTED, power_limit_watts="440,440,440,440")
    high = status_of(row(a_domain(), node, a_node("n-2"), power=a_reading(4800)))
    assert list(reasons(quiet, high)) == [("PowerOvershoot", True), ("PowerCapped", False)]
    assert list(reasons(high, high)) == []
    assert list(reasons(high, quiet)) == [("WithinBudget", False), ("PowerReleased", False)]
    fewer = quiet.model_copy(update={"reduced_watts": 3000})
    assert list(reasons(quiet, fewer)) == [("BudgetReduced", True)]
    assert list(reasons(fewer, quiet)) == [("BudgetRestored", False)]


def test_a_domain_that_was_just_made_does_not_warn_that_its_draw_is_not_known() -> None:
    fresh = status_of(row(a_domain(), power=a_reading()))
    assert words(fresh, "PowerMeasured")[0] == "Unknown"
    assert list(reasons(PowerDomainStatus(), fresh)) == []
    measured = status_of(row(a_domain(4500, fresh.wire()), power=a_reading(4000)))
    assert list(reasons(fresh, measured)) == []
    silent = status_of(row(a_domain(4500, fresh.wire()), power=a_reading(problem="no answer")))
    assert list(reasons(fresh, silent)) == [("PowerUnknown", True)]
    assert list(reasons(measured, silent)) == [("PowerUnknown", True)]


def test_more_watts_than_a_status_can_say_are_cut() -> None:
    domain = a_domain(1_000_000_000, {"reducedWatts": 1_000_000_000})
    status = status_of(row(domain, power=a_reading(5e9)))
    assert status.measured_watts == 1_000_000_000
    assert PowerDomainStatus.model_validate(status.wire()) == status
