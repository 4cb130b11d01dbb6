"""Plans leave a PodGroup where it is once its pods have their nodes, whatever becomes of these."""

import pytest

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Admit, Migrate, Plan, Preempt
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.adopted_workloads import a_stand_in
from support.clusters.seen import seen
from support.objects.job_manifests import a_policy, a_priority_class, a_queue, a_training_job
from support.objects.manifests import edited
from support.objects.pod_groups import a_grouped_pod, a_pod_group, gated, sent

GROUP = a_pod_group()
WAITING = tuple(gated(a_grouped_pod(number)) for number in range(2))
SENT = (sent(a_grouped_pod(0), "a"), sent(a_grouped_pod(1), "b"))
PLACED = a_stand_in(GROUP, *WAITING, on=("a", "b"))
RUNS = (GROUP, PLACED, *SENT)
A, B = fake_node("a", gpus=1), fake_node("b", gpus=1)
CORDONED = edited(A, {"spec.unschedulable": True})
SILENT = edited(
    A,
    {
        "spec.taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}],
        "status.conditions": [{"type": "Ready", "status": "Unknown"}],
    },
)
URGENT = (
    a_priority_class("urgent", 1000),
    a_training_job("urgent", workers=2, priorityClassName="urgent"),
)


def planned(snapshot: Snapshot) -> Plan:
    """The plan; it breaks no rule."""
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0.5))
    assert not violations(plan_input.problem, solution.placements)
    return plan_of(snapshot, PlanResult(plan_input, solution))


def changed(*manifests: Manifest) -> list[type]:
    return [type(change) for change in planned(seen(*manifests)).changes]


def test_one_that_has_started_yields_to_no_priority() -> None:
    assert changed(A, B, *RUNS, *URGENT) == []
    waits = (GROUP, PLACED, *WAITING)
    assert changed(A, B, *waits, *URGENT) == [Preempt, Admit], "its pods have not started yet"


def test_one_that_has_started_yields_to_no_guarantee() -> None:
    owner = a_queue("owner", quotas=[{"type": "NVIDIA-H100-80GB-HBM3", "guaranteed": 2}])
    claims = a_training_job("claims", workers=2, queue="owner")
    claims["metadata"]["creationTimestamp"] = "2026-11-20T00:00:00Z"
    assert changed(A, B, *RUNS, a_policy(guaranteeGrace="0s"), owner, claims) == []


@pytest.mark.parametrize("node", [CORDONED, SILENT, None], ids=["cordoned", "silent", "gone"])
def test_it_is_not_moved_off_its_nodes(node: Manifest | None) -> None:
    others = [each for each in (node, B, fake_node("c", gpus=2)) if each is not None]
    assert changed(*others, *RUNS) == []


def test_one_whose_pods_still_wait_goes_elsewhere() -> None:
    assert changed(B, fake_node("c", gpus=2), GROUP, PLACED, *WAITING) == [Migrate]


def test_its_gpus_are_not_given_to_others_while_it_is_to_be_suspended() -> None:
    other = a_training_job("other", workers=2)
    suspended = edited(PLACED, {"spec.suspend": True})
    assert changed(A, B, GROUP, suspended, *SENT, other) == []
