"""Nodes are kept for a gang that has waited long, and only as far as that helps it."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Hold, Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.validation import renewed
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Assignments
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, pods_of, seen
from support.clusters.simulated_cluster import SimulatedCluster
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_training_job,
    an_inference_job,
)

HIGH = a_priority_class("high", 100)
LOW = a_priority_class("low", -100)


def waiting(job: Manifest, *, hours: float, reason: str = "InsufficientGPUs") -> Manifest:
    since = (NOW - timedelta(hours=hours)).isoformat()
    admitted = {
        "type": "Admitted",
        "status": "False",
        "reason": reason,
        "lastTransitionTime": since,
    }
    return {**job, "status": {"conditions": [admitted]}}


def a_gang(*, hours: float = 7, gpus: int = 4, **fields: Any) -> Manifest:  # noqa: ANN401
    reason = fields.pop("reason", "InsufficientGPUs")
    return waiting(a_training_job("gang", gpus=gpus, **fields), hours=hours, reason=reason)


def small(name: str = "small", **fields: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    return a_training_job(name, **fields)


def busy(node: str, jobs: int, **fields: Any) -> list[Manifest]:  # noqa: ANN401 - same
    return [at(a_training_job(f"{node}-{i}", **fields), node) for i in range(jobs)]


def plan(snapshot: Snapshot) -> Plan:
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    return plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem)))


def look(*manifests: Manifest) -> Snapshot:
    """What is seen where nodes are kept after six hours, unless a policy says something else."""
    has_policy = any(each["kind"] == "PlacementPolicy" for each in manifests)
    return seen(*manifests) if has_policy else seen(SIX_HOURS, *manifests)


def fates(*manifests: Manifest) -> dict[str, str]:
    """What the plan does with each job that waits or is placed anew, by its short name."""
    made = plan(look(*manifests))
    actions = (*made.changes, *made.holds)
    return {action.job.rpartition("/")[2]: str(action.reason) for action in actions}


NODE = fake_node("n", gpus=4)
SIX_HOURS = a_policy(reservation={"after": "6h"})
HALF_FULL = [NODE, *busy("n", 2)]


def test_a_gang_that_has_waited_long_has_the_node_kept_for_it() -> None:
    assert fates(*HALF_FULL, a_gang(), small()) == {
        "gang": "InsufficientGPUs",
        "small": "Reserved",
    }


@pytest.mark.parametrize("going", [{}, {"deletionTimestamp": NOW.isoformat()}])
def test_it_is_kept_while_pods_of_a_job_that_is_gone_are_still_there(going: Manifest) -> None:
    gone = at(a_training_job("gone", gpus=3), "n")
    (left,) = pods_of(gone)
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "3"}}}
    left["spec"] |= {"nodeName": "n", "containers": [container]}
    left["metadata"] |= going
    snapshot = look(NODE, left, a_gang(), small())
    assert snapshot.nodes[0].leaving
    assert {hold.job.rpartition("/")[2]: hold.reason for hold in plan(snapshot).holds} == {
        "gang": "InsufficientGPUs",
        "small": "Reserved",
    }


@pytest.mark.parametrize(
    "gang",
    [
        a_gang(hours=5.9),
        a_gang(reason="QueueLimit"),
        a_gang(reason="Pending"),
        a_gang(priorityClassName="low"),
    ],
)
def test_else_who_fits_starts(gang: Manifest) -> None:
    assert fates(LOW, *HALF_FULL, gang, small())["small"] == "Admitted"


@pytest.mark.parametrize(
    ("after", "reason"), [("0s", "Admitted"), ("8h", "Admitted"), ("1h", "Reserved")]
)
def test_the_policy_says_after_how_long(after: str, reason: str) -> None:
    policy = a_policy(reservation={"after": after})
    assert fates(policy, *HALF_FULL, a_gang(), small())["small"] == reason


def test_that_a_job_is_small_does_not_make_it_go_before() -> None:
    policy = a_policy(reservation={"after": "1h"})
    assert fates(policy, *HALF_FULL, a_gang(hours=2), small())["small"] == "Reserved"


def test_that_a_job_is_long_does_not_make_it_go_before() -> None:
    job = small(rates={H100: 10}, work={"amount": 100_000})
    assert fates(*HALF_FULL, a_gang(), job)["small"] == "Reserved"


def test_without_a_policy_nothing_is_kept() -> None:
    assert plan_input_of(seen(*HALF_FULL, a_gang()), ProblemBuilder()).reservation is None


def test_who_is_more_important_starts_there_all_the_same() -> None:
    assert fates(HIGH, *HALF_FULL, a_gang(), small(priorityClassName="high"))["small"] == "Admitted"


def test_who_is_less_important_is_kept_off_too() -> None:
    found = fates(LOW, *HALF_FULL, a_gang(), small(priorityClassName="low"))
    assert found["small"] == "Reserved"


def test_other_nodes_are_open_to_all() -> None:
    found = fates(*HALF_FULL, fake_node("other", gpus=1), a_gang(), small(), small("next"))
    assert sorted(found.values()) == ["Admitted", "InsufficientGPUs", "Reserved"]


def test_of_two_nodes_the_one_is_kept_that_has_most_free() -> None:
    nodes = [fake_node("m", gpus=4), fake_node("n", gpus=4)]
    snapshot = look(*nodes, *busy("m", 3), *busy("n", 2), a_gang(), small())
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    assert plan_input.reservation is not None
    assert plan_input.reservation.nodes == ("n",)
    assert [type(change).__name__ for change in plan(snapshot).changes] == ["Admit"]


def ending(node: str, name: str, hours: float) -> Manifest:
    ends = (NOW + timedelta(hours=hours)).isoformat()
    return at(a_training_job(name), node, expectedCompletion=ends)


def test_of_two_nodes_the_one_is_kept_that_is_free_first() -> None:
    nodes = [fake_node("m", gpus=2), fake_node("n", gpus=2)]
    running = [ending("m", "soon", 1), ending("m", "sooner", 0.5), ending("n", "late", 2)]
    plan_input = plan_input_of(look(*nodes, *running, a_gang(gpus=2)), ProblemBuilder())
    assert plan_input.reservation is not None
    assert plan_input.reservation.nodes == ("m",)


@pytest.mark.parametrize(("hours", "reason"), [(1.9, "Admitted"), (2.1, "Reserved")])
def test_who_is_surely_done_in_time_starts_there(hours: float, reason: str) -> None:
    job = small(
        rates={H100: 10}, work={"amount": int(hours * 36_000)}, checkpoint={"restore": "0s"}
    )
    gang = a_gang(gpus=2)
    assert fates(fake_node("n", gpus=2), ending("n", "late", 2), gang, job)["small"] == reason


def test_who_is_more_urgent_starts_there_all_the_same() -> None:
    late = (NOW + timedelta(hours=1)).isoformat()
    job = small(rates={H100: 10}, work={"amount": 36_000, "deadline": late})
    assert fates(*HALF_FULL, a_gang(), job)["small"] == "Admitted"


@pytest.mark.parametrize(
    "others", [[], [LOW, *busy("n", 2, priorityClassName="low")]], ids=["free", "who gives way"]
)
def test_nothing_is_kept_for_who_has_room_now(others: list[Manifest]) -> None:
    snapshot = look(NODE, *others, a_gang(), small())
    assert plan_input_of(snapshot, ProblemBuilder()).reservation is None
    assert fates(NODE, *others, a_gang(), small())["gang"] == "Admitted"


def test_who_runs_elsewhere_does_not_come_there_to_make_room_for_others() -> None:
    service = an_inference_job("chat", loads={H100: 1}, role={"replicas": {"min": 1, "max": 1}})
    found = fates(*HALF_FULL, fake_node("other", gpus=1), at(service, "other"), a_gang(), small())
    assert found == {"gang": "InsufficientGPUs", "small": "Reserved"}


def test_who_must_leave_his_node_comes_there_all_the_same() -> None:
    faulty = fake_node("faulty", gpus=1)
    faulty["spec"]["taints"] = [{"key": "plimsoll.dev/quarantine", "effect": "NoSchedule"}]
    found = fates(*HALF_FULL, faulty, *busy("faulty", 1), a_gang())
    assert found == {"gang": "InsufficientGPUs", "faulty-0": "NodeLeft"}


def test_nothing_is_kept_for_who_needs_no_more_than_one_gpu() -> None:
    assert (
        plan_input_of(look(NODE, *busy("n", 4), a_gang(gpus=1)), ProblemBuilder()).reservation
        is None
    )


def test_jobs_stay_the_same_objects_while_nothing_changes() -> None:
    translator, snapshot = ProblemBuilder(), look(*HALF_FULL, a_gang(), small())
    first, second = (plan_input_of(snapshot, translator).problem.jobs for _ in range(2))
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_where_one_queue_has_no_quota_for_it_nodes_are_kept_for_a_like_gang_of_another() -> None:
    capped = a_queue("capped", limit=5)
    two = {"replicas": {"min": 2, "max": 2}}
    service = an_inference_job("chat", loads={H100: 1}, role=two, queue="capped")
    held = [capped, fake_node("other", gpus=2), at(service, "other", "other")]
    first = waiting(a_training_job("first", gpus=4, queue="capped"), hours=8)
    assert plan_input_of(look(*held, *HALF_FULL, first), ProblemBuilder()).reservation is None
    kept = plan_input_of(look(*held, *HALF_FULL, first, a_gang()), ProblemBuilder()).reservation
    assert kept is not None
    assert (kept.job, kept.nodes) == ("TrainingJob/team/gang", ("n",))


def test_an_overdue_job_is_not_waited_for() -> None:
    nodes = [fake_node("m", gpus=4), fake_node("n", gpus=4)]
    running = [ending("m", "overdue", -72), *busy("n", 1)]
    free = plan_input_of(
        look(*nodes, *running, *busy("m", 1), a_gang()), ProblemBuilder()
    ).reservation
    assert free is not None
    assert free.nodes == ("n",)


@pytest.mark.parametrize("reason", ["SpotShare", "PowerBudget"])
def test_what_is_kept_stays_kept_when_it_waits_for_another_kind_of_room(reason: str) -> None:
    assert fates(*HALF_FULL, a_gang(reason=reason), small())["small"] == "Reserved"


def test_who_is_guaranteed_what_he_asks_for_starts_there_all_the_same() -> None:
    owner = a_queue("owner", guaranteed=2)
    assert fates(owner, *HALF_FULL, a_gang(), small(queue="owner"))["small"] == "Admitted"
    found = fates(owner, *HALF_FULL, *busy("n", 2, queue="owner"), a_gang(), small(queue="owner"))
    assert found["small"] == "InsufficientGPUs"


def test_what_is_kept_is_not_where_a_guarantee_keeps_others() -> None:
    owner = a_queue("owner", guaranteed=2)
    owed = [at(a_training_job(f"m-{i}", queue="owner", priorityClassName="low"), "m") for i in "ab"]
    nodes = [LOW, owner, fake_node("m", gpus=4), NODE]
    snapshot = look(*nodes, *owed, *busy("n", 3), a_gang())
    kept = plan_input_of(snapshot, ProblemBuilder()).reservation
    assert kept is not None
    assert kept.nodes == ("m",), "they end like others, and m has more free"
    holds = plan(snapshot).holds
    assert [str(hold.reason) for hold in holds] == ["InsufficientGPUs"]


def test_a_plan_holds_where_other_nodes_are_kept_meanwhile() -> None:
    nodes = [fake_node("m", gpus=4), NODE, fake_node("o", gpus=1)]
    jobs = [*busy("m", 4), *busy("n", 3), a_gang(), small("a"), small("b")]
    before = look(*nodes, *jobs)
    plan_input = plan_input_of(before, ProblemBuilder())
    result = PlanResult(plan_input, solve(plan_input.problem))
    after = look(*nodes, *jobs[2:])
    fresh, broken = renewed(result, plan_input_of(after, ProblemBuilder()))
    assert plan_input.reservation is not None
    assert fresh.plan_input.reservation is not None
    assert plan_input.reservation.nodes == ("n",)
    assert fresh.plan_input.reservation.nodes == ("m",)
    assert broken == ()
    assert [assignments[0].nodes for assignments in started(fresh).values()] == [("o",)]
    assert started(fresh) == started(result)


def started(result: PlanResult) -> dict[str, Assignments]:
    """The places of those that had none."""
    waiting = {job.name for job in result.problem.jobs if not job.running}
    return {name: each for name, each in result.solution.placements.items() if name in waiting}


def test_a_service_grows_where_it_is_and_says_why_not_elsewhere() -> None:
    service = an_inference_job("chat", loads={H100: 1}, role={"replicas": {"min": 2, "max": 2}})
    guard: Manifest = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {}}},
    }
    on_kept = [*HALF_FULL[:2], at(service, "n"), guard, *pods_of(at(service, "n")), a_gang(gpus=3)]
    assert fates(*on_kept)["chat"] == "Resized"
    elsewhere = [*HALF_FULL, fake_node("other", gpus=1), at(service, "other"), a_gang()]
    [said] = plan(look(*elsewhere)).short.values()
    assert said.startswith("there is room for it, but n is kept free for TrainingJob/team/gang")


def test_nothing_is_kept_where_there_is_never_enough_power() -> None:
    def within(budget_watts: int) -> list[Manifest]:
        power = {"idleWatts": 0, "typicalWatts": 100, "limitWatts": 100}
        domain = a_power_domain("row", {"type": "kwok"}, budget_watts=budget_watts, quantile="0.5")
        service = an_inference_job("chat", loads={H100: 1}, role={"replicas": {"min": 1, "max": 1}})
        other = fake_node("other", gpus=1)
        return [
            a_pool("all", {"type": "kwok"}, power=power),
            domain,
            other,
            at(service, "other"),
            *HALF_FULL,
        ]

    assert fates(*within(500), a_gang(), small())["small"] == "Reserved"
    assert fates(*within(400), a_gang(), small())["small"] == "Admitted"


def test_nothing_is_kept_where_services_leave_too_little_for_ever() -> None:
    service = at(
        an_inference_job("chat", loads={H100: 1}, role={"replicas": {"min": 1, "max": 1}}), "n"
    )
    assert fates(NODE, service, *busy("n", 1), a_gang(), small())["small"] == "Admitted"


def test_a_gang_within_one_rack_has_nodes_of_one_rack_kept() -> None:
    def node(name: str, rack: str) -> Manifest:
        return fake_node(name, gpus=2, labels={"plimsoll.dev/rack": rack})

    nodes = [node("a-1", "a"), node("b-1", "b"), node("b-2", "b")]
    gang = a_gang(gpus=2, workers=2, topology={"required": "plimsoll.dev/rack"})
    plan_input = plan_input_of(look(*nodes, *busy("b-2", 1), gang), ProblemBuilder())
    assert plan_input.reservation is not None
    assert plan_input.reservation.nodes == ("b-1", "b-2")


def test_both_say_why() -> None:
    holds = {hold.job: hold for hold in plan(look(*HALF_FULL, a_gang(), small())).holds}
    gang, other = (holds[JobName(f"TrainingJob/team/{name}")] for name in ("gang", "small"))
    assert gang.message.endswith("; n is kept free for it")
    assert other == Hold(
        other.job,
        Reason.RESERVED,
        "there is room for it, but n is kept free for TrainingJob/team/gang,"
        " which has waited since 2026-11-21 05:00 UTC",
    )


def test_a_job_without_room_anyway_says_that() -> None:
    holds = plan(look(*HALF_FULL, a_gang(), small(gpus=3))).holds
    assert {str(hold.reason) for hold in holds} == {"InsufficientGPUs"}


class Rush:
    """A node of four GPUs, to which each hour a job of one GPU comes that takes four hours."""

    def __init__(self, *, after: str) -> None:
        self.cluster = SimulatedCluster(Effort(0))
        self.cluster.apply(fake_node("n", H100, 4))
        self.cluster.apply(a_policy(reservation={"after": after}))
        self._ends: dict[str, int] = {}

    def hour(self, number: int) -> None:
        for name, end in list(self._ends.items()):
            if end <= number:
                self.cluster.remove("TrainingJob", name)
                del self._ends[name]
        self.cluster.apply(a_training_job(f"small-{number}"))
        self.cluster.turn()
        for name in self.running():
            self._ends.setdefault(name, number + 4)
        self.cluster.pass_time(timedelta(hours=1))

    def running(self) -> set[str]:
        jobs = self.cluster.jobs()
        return {job.metadata.name for job in jobs if job.status.placement is not None}


def test_where_small_jobs_keep_coming_a_gang_gets_its_turn() -> None:
    assert "gang" in who_ran(Rush(after="6h"))


def test_without_that_it_never_does() -> None:
    assert "gang" not in who_ran(Rush(after="0s"))


def who_ran(rush: Rush) -> set[str]:
    """Who has run within two days after a gang came that needs the whole node."""
    for number in range(4):
        rush.hour(number)
    rush.cluster.apply(a_training_job("gang", gpus=4))
    ran = set[str]()
    for number in range(4, 52):
        rush.hour(number)
        ran |= rush.running()
    return ran
