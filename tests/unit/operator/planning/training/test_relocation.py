from datetime import timedelta
from typing import Any

import pytest

from plimsoll.planning.actions import Admit, Change, Hold, Migrate, Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.validation import renewed
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen, with_pods
from support.objects.job_manifests import a_policy, a_pool, a_training_job

EFFORT = Effort(deterministic_seconds=0.5)
SOON = (NOW + timedelta(minutes=3)).isoformat()
LONG_AGO = (NOW - timedelta(days=2)).isoformat()
ONCE_A_DAY = {"maxPerDay": 1}
SAVED = {"lastCheckpoint": (NOW - timedelta(seconds=5)).isoformat()}
NODES = [fake_node(f"n-{index}", gpus=1) for index in range(4)]


def ago(**span: float) -> str:
    return (NOW - timedelta(**span)).isoformat()


def slow(replica: int = 1, *, found: bool = True, lost: int = 40) -> Manifest:
    """A worker that is slow where it is."""
    found_time = {"foundTime": ago(minutes=1)} if found else {}
    return {
        "replica": replica,
        "node": f"n-{replica}",
        "since": ago(minutes=9),
        "computeSeconds": "0.5",
        "gangSeconds": "0.25",
        "lostPercent": lost,
        **found_time,
    }


def replaced(replica: int = 1, *, node: str = "n-9", hours_ago: float = 2.0) -> Manifest:
    """A straggler for which the gang was moved before."""
    until = (NOW + timedelta(hours=6 - hours_ago)).isoformat()
    at = {"time": ago(hours=hours_ago), "until": until}
    return {"replica": replica, "workers": 3, "node": node, **at}


def gang(name: str = "gang", *workers: Manifest, status: Any = None, **spec: Any) -> Manifest:  # noqa: ANN401
    """A gang of three on the first nodes that runs for days and has just saved."""
    job = a_training_job(name, workers=3, **spec)
    common: Manifest = {"startedTime": LONG_AGO, "admittedTime": LONG_AGO, "progress": SAVED}
    placed = at(job, "n-0", "n-1", "n-2")
    placed["status"] |= {**common, "slowWorkers": list(workers), **(status or {})}
    return placed


def planned(*manifests: Manifest, translator: ProblemBuilder | None = None) -> Plan:
    """The plan for four nodes of one GPU, and what else there is."""
    jobs = [each for each in manifests if each["kind"] == "TrainingJob"]
    others = [each for each in manifests if each["kind"] != "TrainingJob"]
    nodes = [] if any(each["kind"] == "Node" for each in others) else NODES
    placed = [job for job in jobs if "status" in job]
    snapshot = seen(*nodes, *others, *(j for j in jobs if j not in placed), *with_pods(placed))
    plan_input = plan_input_of(snapshot, translator or ProblemBuilder())
    result = PlanResult(plan_input, solve(plan_input.problem, EFFORT))
    fresh, broken = renewed(result, plan_input_of(snapshot, translator or ProblemBuilder()))
    assert broken == ()
    return plan_of(snapshot, fresh)


def changes(*manifests: Manifest) -> tuple[Change, ...]:
    return planned(*manifests).changes


def test_a_gang_leaves_the_node_of_its_straggler() -> None:
    [change] = changes(gang("gang", slow()))
    assert isinstance(change, Migrate)
    assert change.reason is Reason.STRAGGLER_REPLACED
    assert sorted(name for assignment in change.assignments for name in assignment.nodes) == [
        "n-0",
        "n-2",
        "n-3",
    ]
    assert change.message == (
        "worker 1 on n-1 computes 0.5 s per step, 100 % longer than the median of its gang,"
        " 0.25 s: moved to NVIDIA-H100-80GB-HBM3 on n-0, n-2, n-3"
    )


def test_it_stays_if_there_is_no_other_place() -> None:
    assert changes(gang("gang", slow()), *NODES[:3]) == ()


def test_nobody_gives_way_to_it_nor_waits_longer_for_it() -> None:
    beside = at(a_training_job("beside"), "n-3")
    assert changes(gang("gang", slow()), beside) == ()
    [moved, admitted] = sorted(
        changes(gang("gang", slow()), a_training_job("waits")), key=lambda change: change.job
    )
    assert isinstance(moved, Migrate)
    assert isinstance(admitted, Admit), "what waits gets the node that becomes free"


def test_who_has_no_place_does_not_take_it_from_a_gang_that_moves() -> None:
    plan = planned(gang("gang", slow()), a_training_job("waits", workers=2))
    assert [type(change) for change in plan.changes] == [Migrate]
    assert [type(hold) for hold in plan.holds] == [Hold]


@pytest.mark.parametrize(
    "job",
    [
        gang("gang", slow(found=False)),
        gang("gang", slow(), disruption={"minRuntime": "100h"}),
        gang("gang", slow(), status={"disruptionTimes": [ago(hours=3)]}, disruption=ONCE_A_DAY),
        gang("gang", slow(), status={"replacedWorkers": [replaced(2, hours_ago=0.9)]}),
        gang("gang", slow(), status={"expectedCompletion": SOON}),
        gang("gang", slow(lost=2)),
        gang("gang", slow(), status={"replacedWorkers": [replaced(1)]}),
        gang("gang", slow(0, lost=40), slow(1, lost=40), status={"replacedWorkers": [replaced(0)]}),
    ],
    ids=[
        "not for long enough",
        "has not run for as long as it must",
        "was disturbed often enough",
        "was moved for a straggler of late",
        "is nearly done",
        "loses next to nothing",
        "that worker was slow elsewhere, too",
        "another one is as slow wherever it is",
    ],
)
def test_it_stays_also_where_there_is_another_place(job: Manifest) -> None:
    assert changes(job) == ()


@pytest.mark.parametrize(
    "job",
    [
        gang("gang", slow(), status={"replacedWorkers": [replaced(2)]}),
        gang("gang", slow(), status={"replacedWorkers": [{**replaced(1), "workers": 8}]}),
        gang("gang", slow(), disruption=ONCE_A_DAY),
    ],
    ids=["another one was replaced", "as one of another gang", "may be disturbed once"],
)
def test_it_moves_again(job: Manifest) -> None:
    assert [type(change) for change in changes(job)] == [Migrate]


def test_the_policy_may_leave_stragglers_where_they_are() -> None:
    assert changes(gang("gang", slow()), a_policy(stragglers={"slowerPercent": 0})) == ()


def test_budgets_for_disruptions_hold() -> None:
    for limit in ({"maxJobs": 0}, {"maxLostPercent": 0}):
        none = a_policy(disruptionBudgets=[{"window": "1h", **limit}])
        assert changes(gang("gang", slow()), none) == ()


def test_what_was_not_saved_counts_against_a_move() -> None:
    unsaved = gang("gang", slow(lost=10), checkpoint={"interval": "10h"}, status={"progress": {}})
    assert changes(unsaved) == ()
    assert len(changes(gang("gang", slow(lost=10)))) == 1


def test_one_gang_at_a_time_is_moved_and_first_who_gains_most() -> None:
    first = gang("first", slow(lost=30))
    second = {**gang("second", {**slow(1, lost=50), "node": "m-1"})}
    for place in second["status"]["placement"]["assignments"]:
        place["nodes"] = [place["nodes"][0].replace("n", "m")]
    nodes = [fake_node(f"{letter}-{i}", gpus=1) for letter in "nm" for i in range(4)]
    [change] = changes(first, second, *nodes)
    assert change.job.endswith("second")


def test_it_is_not_moved_back_to_a_slow_node_but_would_rather_be_there_than_nowhere() -> None:
    was = {"replacedWorkers": [replaced(1, node="n-3", hours_ago=3)]}
    elastic = a_training_job("gang", workers=(3, 4), rates={"NVIDIA-H100-80GB-HBM3": {3: 3, 4: 4}})
    grows = at(elastic, "n-0", "n-1", "n-2", startedTime=LONG_AGO, progress=SAVED)
    assert len(changes(grows)) == 1, "without a straggler it grows into the fourth node"
    stays = {**grows, "status": {**grows["status"], **was}}
    assert changes(stays) == ()
    waits = {**a_training_job("gang", workers=4), "status": was}
    snapshot = seen(*NODES, waits)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    [change] = plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem, EFFORT))).changes
    assert isinstance(change, Admit)


def test_a_gang_that_must_leave_its_node_may_go_to_a_slow_one_rather_than_lose_its_place() -> None:
    notice = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    leaving = {**NODES[0], "spec": {"taints": [notice]}}
    was = {"replacedWorkers": [replaced(1, node="n-3")]}
    [change] = changes(gang("gang", status=was), leaving, *NODES[1:])
    assert isinstance(change, Migrate)
    assert change.reason is Reason.NODE_LEFT
    assert sorted(name for assignment in change.assignments for name in assignment.nodes) == [
        "n-1",
        "n-2",
        "n-3",
    ]


def test_a_dearer_place_is_taken_only_for_what_it_is_worth() -> None:
    def with_price(dollars: str) -> tuple[Change, ...]:
        cheap = a_pool("cheap", {"plimsoll.dev/pool": "cheap"}, pricePerGPUHour="1")
        dear = a_pool("dear", {"plimsoll.dev/pool": "dear"}, pricePerGPUHour=dollars)
        nodes = [fake_node(f"n-{index}", gpus=1) for index in range(4)]
        for index, node in enumerate(nodes):
            node["metadata"]["labels"]["plimsoll.dev/pool"] = "dear" if index == 3 else "cheap"
        return changes(gang("gang", slow(lost=20)), cheap, dear, *nodes)

    assert len(with_price("2")) == 1
    assert with_price("40") == ()


def test_a_gang_that_found_no_place_gets_one_once_there_is_one() -> None:
    translator = ProblemBuilder()
    full = (gang("gang", slow()), at(a_training_job("beside"), "n-3"))
    snapshot = seen(*NODES, *with_pods(full))
    assert plan_input_of(snapshot, translator).relocated == {}
    assert plan_input_of(snapshot, translator).relocated == {}
    free = seen(*NODES, *with_pods(full[:1]))
    assert len(plan_input_of(free, translator).relocated) == 1
