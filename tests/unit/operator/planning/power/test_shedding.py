"""What is taken from whom where more runs than a power domain has watts for, by its order."""

from collections.abc import Sequence
from typing import Any

import pytest

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Change, Preempt, Resize
from plimsoll.planning.capping.reaction import power_reactions
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import at, with_pods
from support.objects.job_manifests import a_priority_class, a_training_job, an_inference_job
from support.problems.power_cases import EXPECTED, a_domain, a_node, row

EFFORT = Effort(deterministic_seconds=0.5)
AT_ONCE = Effort(deterministic_seconds=0)
ALL, SHRINK, PREEMPT = ("Cap", "Shrink", "Preempt"), ("Shrink",), ("Preempt",)
URGENT = a_priority_class("urgent", 100)


def elastic(name: str, node: str, *, least: int = 1, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A gang of one to four workers with a GPU each, that has four on a node of the row."""
    return at(a_training_job(name, workers=(least, 4), **spec), *[node] * 4)


def two(*, least: int = 1) -> list[Manifest]:
    return [
        elastic("batch", "n-1", least=least),
        elastic("urgent", "n-2", least=least, priorityClassName="urgent"),
    ]


def fed(budget_watts: int, order: Sequence[str], *work: Manifest) -> Snapshot:
    """The row with so many watts: 800 are drawn idle, 400 more by each GPU in use."""
    domain = a_domain(budget_watts, quantile="0.5", reaction={"order": [*order]})
    runs = [job for job in work if "status" in job]
    waits = [job for job in work if "status" not in job]
    return row(domain, work=[URGENT, *with_pods(runs), *waits])


def changes(snapshot: Snapshot, effort: Effort = EFFORT) -> dict[str, Change]:
    """What becomes of whom; the result breaks no rule."""
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, effort)
    assert not violations(plan_input.problem, solution.placements)
    plan = plan_of(snapshot, PlanResult(plan_input, solution))
    return {change.job.rpartition("/")[2]: change for change in plan.changes}


def sizes(snapshot: Snapshot, effort: Effort = EFFORT) -> dict[str, int]:
    """How many replicas those have afterwards of whom anything becomes."""
    return {
        name: 0 if isinstance(change, Preempt) else len(change.assignments)
        for name, change in changes(snapshot, effort).items()
    }


@pytest.mark.parametrize("effort", [AT_ONCE, EFFORT], ids=["at once", "searched"])
@pytest.mark.parametrize(
    ("order", "budget", "after"),
    [
        (["Shrink", "Preempt"], 4000, {}),
        (["Shrink", "Preempt"], 3600, {"batch": 3}),
        (["Shrink", "Preempt"], 2800, {"batch": 1}),
        (["Shrink", "Preempt"], 2000, {"batch": 1, "urgent": 2}),
        (["Shrink", "Preempt"], 1200, {"batch": 0, "urgent": 1}),
        (ALL, 2600, {}),
        # At its lowest cap a GPU draws 100 W above idle, which is all that a worker less saves.
        (ALL, 1500, {"batch": 3}),
        (ALL, 1300, {"batch": 1}),
        (ALL, 1200, {"batch": 1, "urgent": 3}),
        (ALL, 900, {"batch": 0, "urgent": 1}),
        (["Cap", "Shrink"], 900, {"batch": 1, "urgent": 1}),
        (SHRINK, 2000, {"batch": 1, "urgent": 2}),
        (SHRINK, 1000, {"batch": 1, "urgent": 1}),
        (PREEMPT, 3600, {"batch": 0}),
        (PREEMPT, 2000, {"batch": 0, "urgent": 0}),
        (["Preempt", "Shrink"], 3600, {"batch": 0}),
        (["Cap"], 1000, {}),
    ],
)
def test_the_order_says_what_is_taken_and_the_lowest_priority_pays_first(
    order: list[str], budget: int, after: dict[str, int], effort: Effort
) -> None:
    assert sizes(fed(budget, order, *two()), effort) == after


def test_a_gang_that_cannot_shrink_is_passed_over_until_jobs_must_stop() -> None:
    rigid = two(least=4)
    assert sizes(fed(3000, SHRINK, *rigid)) == {}
    assert sizes(fed(3000, ["Shrink", "Preempt"], *rigid)) == {"batch": 0}


def test_allowed_sizes_are_kept_to() -> None:
    sized = at(a_training_job("batch", workers=(1, 4), allowed=(1, 2, 4)), *["n-1"] * 4)
    assert sizes(fed(2000, SHRINK, sized)) == {"batch": 2}


def test_a_service_gives_up_replicas_but_keeps_one() -> None:
    service = at(an_inference_job("service", replicas=4), *["n-1"] * 4)
    # Each replica draws 360 W above idle.
    assert sizes(fed(2000, SHRINK, service)) == {"service": 3}
    assert sizes(fed(900, SHRINK, service)) == {"service": 1}
    assert sizes(fed(2000, PREEMPT, service)) == {"service": 0}
    assert sizes(fed(900, ["Shrink", "Preempt"], service)) == {"service": 0}


def test_nobody_who_waits_gets_what_others_give_up() -> None:
    waits = a_training_job("waits", gpus=1)
    found = sizes(fed(2800, ["Shrink", "Preempt"], *two(), waits))
    assert found == {"batch": 1}


@pytest.mark.parametrize("order", [SHRINK, ["Shrink", "Preempt"]])
def test_what_has_shrunk_stays_as_it_is(order: Sequence[str]) -> None:
    urgent = a_training_job("urgent", workers=(1, 4), priorityClassName="urgent")
    shrunk = at(a_training_job("batch", workers=(1, 4)), "n-1"), at(urgent, "n-2")
    assert sizes(fed(1600, order, *shrunk)) == {}
    assert sizes(fed(1200, order, *shrunk)) == ({} if order == SHRINK else {"batch": 0})


def test_one_plan_takes_all_that_caps_cannot_save_with_fewer_gpus_to_cap() -> None:
    waits = a_training_job("waits", gpus=1)
    assert sizes(fed(1300, ALL, *two(), waits)) == {"batch": 1}
    left = at(a_training_job("batch", workers=(1, 4)), "n-1"), two()[1]
    assert sizes(fed(1300, ALL, *left)) == {}


def test_what_draws_outside_the_domain_stays() -> None:
    wide = at(a_training_job("batch", workers=(1, 4)), "n-1", "n-1", "far", "far")
    domain = a_domain(1000, quantile="0.5", reaction={"order": [*SHRINK]})
    nodes = (a_node("n-1"), fake_node("far", gpus=2))
    resize = changes(row(domain, *nodes, work=with_pods([wide])))["batch"]
    assert isinstance(resize, Resize)
    assert sorted(name for assignment in resize.assignments for name in assignment.nodes) == [
        "far",
        "far",
        "n-1",
    ]
    assert resize.power_domain == "row-a"


def test_the_domain_for_which_a_job_is_preempted_is_named() -> None:
    shrinks = changes(fed(3600, SHRINK, *two()))["batch"]
    assert isinstance(shrinks, Resize)
    assert shrinks.power_domain == "row-a"
    assert "from 4 to 3 workers, power domain row-a has too little power left" in shrinks.message
    stops = changes(fed(3600, PREEMPT, *two()))["batch"]
    assert isinstance(stops, Preempt)
    assert (stops.reason, stops.power_domain) == (Reason.EVICTED, "row-a")


def test_within_the_budget_a_job_may_give_way_for_nobodys_power() -> None:
    service = at(an_inference_job("service", replicas=1), "n-1", "n-1")
    resize = changes(fed(9000, ALL, service))["service"]
    assert isinstance(resize, Resize)
    assert resize.power_domain == ""


def test_caps_and_statuses_go_by_what_still_runs() -> None:
    snapshot = fed(1500, ALL, *two())
    [reaction] = power_reactions(snapshot, plan_input_of(snapshot, ProblemBuilder()).as_it_runs)
    assert reaction.expected_watts == EXPECTED
