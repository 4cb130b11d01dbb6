from collections.abc import Iterable

import pytest

from plimsoll.observe.nodes.notices import EMPTIED_TAINT
from plimsoll.planning.actions import Action, Admit, Hold, Migrate, Plan, Preempt, Resize
from plimsoll.planning.plan.decisions import PlanResult, nodes_text, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen, with_pods
from support.objects.job_manifests import (
    a_gpu_pod,
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
    without_speeds,
)

HIGH = a_priority_class("high", 100)
NOTICE = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
ONLY_N_1 = a_template(nodeSelector={"kubernetes.io/hostname": "n-1"})
EFFORT = Effort(deterministic_seconds=0.5)


def planned(*manifests: Manifest) -> Plan:
    """The plan for what the manifests describe, by the solver that plans for clusters."""
    snapshot = seen(*manifests)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    return plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem, EFFORT)))


def actions(plan: Plan) -> dict[str, Action]:
    """By job; one that loses its place both gives way and waits: the first is what is looked at."""
    return {each.job.rpartition("/")[2]: each for each in (*plan.holds, *plan.changes)}


def places(action: Action) -> list[str]:
    assert isinstance(action, Admit | Resize | Migrate)
    return [name for assignment in action.assignments for name in assignment.nodes]


def with_gpus(*counts: int, gpu_type: str = H100) -> Iterable[Manifest]:
    return [fake_node(f"n-{index}", gpu_type, gpus) for index, gpus in enumerate(counts)]


def test_a_job_that_waited_is_admitted() -> None:
    plan = planned(*with_gpus(4, 4), a_training_job("new", workers=5))
    admit = actions(plan)["new"]
    assert isinstance(admit, Admit)
    assert (admit.reason, plan.admitted) == (Reason.ADMITTED, 1)
    assert sorted(places(admit)) == ["n-0"] * 4 + ["n-1"]
    assert admit.message == "placed: NVIDIA-H100-80GB-HBM3 on n-0 ×4, n-1"


def test_a_place_that_was_chosen_by_assumed_speeds_says_so() -> None:
    job = without_speeds(a_training_job("new"))
    of_two_types = planned(*with_gpus(4), fake_node("other", A100), job)
    message = "placed: NVIDIA-H100-80GB-HBM3 on n-0"
    trust = "; speeds are assumed from published figures until its workers report"
    assert actions(of_two_types)["new"].message == message + trust
    assert actions(planned(*with_gpus(4), job))["new"].message == message


def test_nothing_is_said_of_what_goes_on() -> None:
    plan = planned(*with_gpus(4), at(a_training_job("job"), "n-0"))
    assert (plan.changes, plan.holds, plan.admitted) == ((), (), 1)


def test_a_job_without_room_is_held_with_its_numbers() -> None:
    plan = planned(
        *with_gpus(4), at(a_training_job("job", gpus=2), "n-0"), a_training_job("x", gpus=3)
    )
    hold = actions(plan)["x"]
    assert hold == Hold(
        hold.job,
        Reason.INSUFFICIENT_GPUS,
        "needs 3 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 2",
    )


def test_a_job_waits_for_what_is_on_its_way_out() -> None:
    going = a_gpu_pod("going", "n-0", gpus=2)
    going["metadata"]["deletionTimestamp"] = NOW.isoformat()
    hold = actions(planned(*with_gpus(4), going, a_training_job("x", gpus=4)))["x"]
    assert isinstance(hold, Hold)
    assert (hold.reason, hold.inadmissible) == (Reason.INSUFFICIENT_GPUS, False)
    assert hold.message.endswith("the most free on one node is 2")


def test_a_gang_grows_into_what_is_idle() -> None:
    plan = planned(*with_gpus(4), at(a_training_job("gang", workers=(2, 4)), "n-0", "n-0"))
    resize = actions(plan)["gang"]
    assert isinstance(resize, Resize)
    assert (resize.reason, len(resize.assignments)) == (Reason.RESIZED, 4)
    assert resize.message == "from 2 to 4 workers: NVIDIA-H100-80GB-HBM3 on n-0 ×4"


def test_a_gang_shrinks_for_a_newcomer_of_its_priority() -> None:
    gang = at(a_training_job("gang", workers=(2, 4)), *["n-0"] * 4)
    found = actions(planned(*with_gpus(4), gang, a_training_job("new", gpus=2)))
    assert isinstance(found["new"], Admit)
    assert isinstance(found["gang"], Resize)
    assert found["gang"].message.startswith("from 4 to 2 workers")


def test_more_replicas_are_added_to_a_service() -> None:
    service = at(an_inference_job("service", replicas=3), "n-0", "n-0")
    resize = actions(planned(*with_gpus(4), service))["service"]
    assert isinstance(resize, Resize)
    assert resize.message == "from 2 to 3 replicas: NVIDIA-H100-80GB-HBM3 on n-0 ×3"


def kept(job: Manifest) -> list[Manifest]:
    """The placed job with its pods, and a budget that lets none of them go."""
    budget: Manifest = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "none"},
        "spec": {"selector": {}},
        "status": {"disruptionsAllowed": 0},
    }
    return [*with_pods([job]), budget]


def test_a_gang_that_a_budget_keeps_is_not_shrunk_and_the_budget_is_named() -> None:
    gang = at(a_training_job("gang", workers=(2, 4)), *["n-0"] * 4)
    new = a_training_job("new", gpus=2)
    assert isinstance(actions(planned(*with_gpus(4), *with_pods([gang]), new))["gang"], Resize)
    plan = planned(*with_gpus(4), *kept(gang), new)
    assert not plan.changes
    (hold,) = plan.holds
    assert hold.message.endswith(
        "jobs that must not be moved hold 4; "
        "moving them would violate PodDisruptionBudget team/none"
    )


def test_a_lowered_limit_costs_nobody_the_plan_where_a_budget_keeps_a_gang_beyond_it() -> None:
    gang = at(a_training_job("gang", gpus=2, workers=(1, 4), queue="research"), *["n-0"] * 4)
    plan = planned(
        *with_gpus(8, 8),
        *(a_queue("research", limit=4), a_queue("others")),
        *kept(gang),
        a_training_job("waits", queue="research"),
        a_training_job("comes", queue="others"),
        a_training_job("too-large", gpus=9, queue="others"),
    )
    assert [change.job.rpartition("/")[2] for change in plan.changes] == ["comes"]
    assert {hold.job.rpartition("/")[2]: hold.reason for hold in plan.holds} == {
        "waits": Reason.QUEUE_LIMIT,
        "too-large": Reason.CANNOT_FIT,
    }


def test_a_service_that_must_not_be_disturbed_still_grows() -> None:
    service = at(an_inference_job("service", replicas=3), "n-0")
    other = at(a_training_job("other"), "n-0")
    plan = planned(*with_gpus(3), *kept(service), other)
    resize = actions(plan)["service"]
    assert isinstance(resize, Resize)
    assert [assignment.replica for assignment in resize.assignments] == [0, 1]
    assert resize.message == "from 1 to 2 replicas: NVIDIA-H100-80GB-HBM3 on n-0 ×2"
    assert (plan.admitted, plan.holds) == (2, ())


def test_a_service_that_must_not_be_disturbed_shrinks_as_its_user_wishes() -> None:
    service = at(an_inference_job("service", replicas=1), "n-0", "n-0", "n-0")
    resize = actions(planned(*with_gpus(3), *kept(service)))["service"]
    assert isinstance(resize, Resize)
    assert resize.message == "from 3 to 1 replicas: NVIDIA-H100-80GB-HBM3 on n-0"
    asleep = actions(planned(*with_gpus(3), *kept(at(a_sleeping_service(), "n-0"))))["service"]
    assert asleep == Resize(asleep.job, (), Reason.SCALED_TO_ZERO, "no replicas are wanted")


def test_a_gang_gets_the_size_that_its_user_gave_it_though_it_is_fresh() -> None:
    gang = a_training_job("gang", workers=3, disruption={"minRuntime": "1h"})
    resize = actions(planned(*with_gpus(4), at(gang, "n-0", startedTime=NOW.isoformat())))["gang"]
    assert isinstance(resize, Resize)
    assert len(resize.assignments) == 3


def a_sleeping_service() -> Manifest:
    return an_inference_job("service", role={"replicas": {"min": 0, "max": 2}})


def test_a_service_of_which_nothing_is_wanted_sleeps() -> None:
    resize = actions(planned(*with_gpus(4), at(a_sleeping_service(), "n-0")))["service"]
    assert resize == Resize(resize.job, (), Reason.SCALED_TO_ZERO, "no replicas are wanted")


def test_a_service_may_sleep_from_the_start_and_says_so_once() -> None:
    admit = actions(planned(*with_gpus(4), a_sleeping_service()))["service"]
    assert admit == Admit(admit.job, (), Reason.SCALED_TO_ZERO, "no replicas are wanted")
    assert actions(planned(*with_gpus(4), at(a_sleeping_service()))) == {}


def test_a_higher_priority_takes_the_place_of_a_lower_one() -> None:
    plan = planned(
        *with_gpus(4),
        HIGH,
        at(a_training_job("low", gpus=4), "n-0"),
        a_training_job("high", gpus=4, priorityClassName="high"),
    )
    preempt = actions(plan)["low"]
    assert isinstance(preempt, Preempt)
    assert (preempt.reason, preempt.winners) == (Reason.PREEMPTED, ("TrainingJob/team/high",))
    assert preempt.message == "makes room for TrainingJob/team/high (priority 100)"
    assert [type(change) for change in plan.changes] == [Preempt, Admit]  # first what frees


def test_a_gang_that_shrinks_elsewhere_makes_no_room_for_itself() -> None:
    """Its new workers are new on a GPU of its type, too."""
    gang = at(a_training_job("gang", workers=(1, 2)), "n-0", "n-0")
    tainted = fake_node("n-0", gpus=2)
    tainted["spec"]["taints"] = [
        {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    ]
    resize = actions(planned(tainted, fake_node("n-1", gpus=1), gang))["gang"]
    assert isinstance(resize, Resize)
    assert "makes room" not in resize.message


def test_a_guarantee_does_not_turn_against_the_queues_own_priorities() -> None:
    small = a_training_job("small", queue="owner")
    plan = planned(
        *with_gpus(8),
        a_priority_class("low", -100),
        a_queue("owner", guaranteed=8),
        at(small, "n-0"),
        a_training_job("large", workers=8, queue="owner", priorityClassName="low"),
    )
    assert plan.changes == ()
    assert [hold.job for hold in plan.holds] == ["TrainingJob/team/large"]


def test_an_owner_takes_back_what_is_guaranteed() -> None:
    plan = planned(
        *with_gpus(4),
        a_queue("owner", guaranteed=4),
        a_queue("guest"),
        at(a_training_job("borrower", gpus=4, queue="guest"), "n-0"),
        a_training_job("owned", gpus=4, queue="owner"),
    )
    preempt = actions(plan)["borrower"]
    assert isinstance(preempt, Preempt)
    assert (preempt.reason, preempt.winners) == (Reason.RECLAIMED, ("TrainingJob/team/owned",))
    assert preempt.message == ("returns what is guaranteed to TrainingJob/team/owned (priority 0)")


def test_a_winner_on_another_node_is_named_by_its_gpu_type() -> None:
    """The queue was full: what the winner lacked was not the victim's node but its quota."""
    plan = planned(
        *with_gpus(1, 1),
        HIGH,
        a_queue("tight", limit=1),
        at(a_training_job("low", queue="tight"), "n-0"),
        a_training_job("high", queue="tight", priorityClassName="high", template=ONLY_N_1),
    )
    preempt = actions(plan)["low"]
    assert isinstance(preempt, Preempt)
    assert preempt.winners == ("TrainingJob/team/high",)


def test_a_job_leaves_a_node_with_a_notice_for_another() -> None:
    noticed = fake_node("n-0", H100, 1, taints=[NOTICE])
    plan = planned(noticed, fake_node("n-1", H100, 1), at(a_training_job("job"), "n-0"))
    migrate = actions(plan)["job"]
    assert isinstance(migrate, Migrate)
    assert migrate.reason == Reason.NODE_LEFT
    assert migrate.message == "left n-0 (Draining), now NVIDIA-H100-80GB-HBM3 on n-1"


def test_a_job_that_must_leave_and_has_nowhere_to_go_is_stopped() -> None:
    gone = at(a_training_job("job"), "n-9")
    plan = planned(*with_gpus(1), at(a_training_job("other"), "n-0"), gone)
    preempt = actions(plan)["job"]
    assert isinstance(preempt, Preempt)
    assert preempt.reason == Reason.NODE_LEFT
    assert preempt.message == "it must leave n-9 (gone), and there is no other place"


def test_a_job_that_nodes_are_emptied_of_and_that_has_nowhere_to_go_is_stopped_by_choice() -> None:
    emptied = fake_node("n-0", gpus=1, taints=[{"key": EMPTIED_TAINT, "effect": "NoSchedule"}])
    preempt = actions(planned(emptied, at(a_training_job("job"), "n-0")))["job"]
    assert isinstance(preempt, Preempt)
    assert preempt.reason == Reason.EVICTED
    assert preempt.message == "it must leave n-0 (NodeEmptied), and there is no other place"


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (fake_node("n-0", A100, 1), "needs 1 × NVIDIA-H100-80GB-HBM3; the cluster has none"),
        (
            fake_node("n-0", H100, 1, replicas=4),
            "needs 1 × NVIDIA-H100-80GB-HBM3; no node offers whole GPUs",
        ),
    ],
    ids=["other", "shared"],
)
def test_a_job_whose_gpus_are_not_what_they_were_says_what_it_lacks(
    node: Manifest, why: str
) -> None:
    preempt = actions(planned(node, at(a_training_job("job"), "n-0")))["job"]
    assert isinstance(preempt, Preempt)
    assert preempt.message == f"its place no longer fits within the limits: {why}"


def test_a_job_moves_where_that_is_worth_the_restart() -> None:
    fast = a_training_job(
        "fast", rates={H100: 10, A100: 1}, checkpoint={"saveSeconds": 1, "restoreSeconds": 1}
    )
    plan = planned(
        fake_node("h100", H100, 1), fake_node("a100", A100, 1), at(fast, "a100", gpu_type=A100)
    )
    migrate = actions(plan)["fast"]
    assert isinstance(migrate, Migrate)
    assert migrate.reason == Reason.MIGRATED
    assert migrate.message == "moved to NVIDIA-H100-80GB-HBM3 on h100: 10 times as fast"


def test_a_limit_that_fell_stops_what_is_beyond_it() -> None:
    power = {"idleWatts": 0, "typicalWatts": 500, "limitWatts": 500}
    plan = planned(
        *with_gpus(2),
        a_pool("p", {"type": "kwok"}, power=power),
        a_power_domain("row", {"type": "kwok"}, budget_watts=400),
        at(a_training_job("job"), "n-0"),
    )
    preempt = actions(plan)["job"]
    assert isinstance(preempt, Preempt)
    assert (preempt.reason, preempt.winners) == (Reason.EVICTED, ())
    assert preempt.message == "power domain row has too little power left for it"


def test_many_nodes_are_summarized() -> None:
    assert nodes_text({"b": 1, "a": 3}) == "a ×3, b"
    assert nodes_text({f"n-{index}": 1 for index in range(6)}) == "n-0, n-1, n-2, n-3 and 2 more"


def test_a_service_without_all_its_replicas_says_what_the_next_one_lacks() -> None:
    plan = planned(*with_gpus(2), an_inference_job("service", replicas=3))
    admit = actions(plan)["service"]
    assert isinstance(admit, Admit)
    assert len(admit.assignments) == 2
    lack = "needs 1 × NVIDIA-H100-80GB-HBM3; none is free"
    assert plan.short == {"InferenceJob/team/service": lack}
    again = planned(*with_gpus(2), *kept(at(an_inference_job("service", replicas=3), "n-0", "n-0")))
    pinned = f"{lack}; jobs that must not be moved hold 2"
    assert again.short == {"InferenceJob/team/service": pinned}
    assert planned(*with_gpus(3), an_inference_job("service", replicas=3)).short == {}


@pytest.mark.parametrize(
    "absurd",
    [
        a_pool("p", {"type": "kwok"}, pricePerGPUHour="1e19"),
        a_pool("p", {"type": "kwok"}, capacityType="Spot", interruptionsPerHour="1e19"),
        a_policy(objective={"weights": {"usefulWork": "1n", "money": "1e19", "energy": "1e19"}}),
        a_queue("default", guaranteed=10**18),
    ],
    ids=["price", "interruptions", "weights", "guarantee"],
)
def test_absurd_numbers_of_administrators_stop_no_plan(absurd: Manifest) -> None:
    spot = {"allowed": True}
    gang = a_training_job("gang", workers=(1, 6), spot=spot, checkpoint={"interval": "99999h"})
    service = an_inference_job("service", replicas=2, role={"spot": spot})
    found = actions(planned(*with_gpus(4, 4), absurd, gang, service))
    assert {name: type(action) for name, action in found.items()} == {
        "gang": Admit,
        "service": Admit,
    }


# What counts in disruption budgets


def lost_by(name: str, *manifests: Manifest) -> int:
    action = actions(planned(*manifests))[name]
    assert isinstance(action, Migrate | Preempt)
    return action.lost_gpu_seconds


def test_what_a_move_throws_away_counts() -> None:
    minutes = {"interval": "10m", "saveSeconds": 30, "restoreSeconds": 60}
    gang = at(a_training_job("gang", gpus=4, checkpoint=minutes), "n-0")
    lost = lost_by("gang", *with_gpus(8, 4), gang, a_training_job("new", gpus=8))
    assert lost >= 4 * (30 + 60)
    assert lost % 4 == 0


def test_what_a_higher_priority_preempts_is_its_own_to_pay() -> None:
    low, high = at(a_training_job("low"), "n-0"), a_training_job("high", priorityClassName="high")
    assert lost_by("low", *with_gpus(1), HIGH, low, high) == 0
