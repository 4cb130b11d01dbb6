"""Where a service that is being renewed has one replica more, and when it is renewed in place."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest

from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.ordinals import with_ordinals
from plimsoll.planning.plan.validation import renewed, settled
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Assignments
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.solve import solve
from support.clusters.seen import NAMESPACE, NOW, at, pods_of, seen, serving
from support.objects.job_manifests import (
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.problems.power_cases import a_domain, row

QUOTA = 'pods "s" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
NAME = JobName(f"InferenceJob/{NAMESPACE}/s")
OLD = a_template()
NEW = a_template()
NEW["spec"]["containers"][0]["image"] = "main:2"


def a_service(
    *nodes: str, wanted: int = 2, loads: Mapping[str, int | str] | None = None
) -> Manifest:
    """A service of the new template that has a place on these nodes, and wants so many replicas."""
    role = {"replicas": {"min": 0, "max": 3}}
    job = an_inference_job("s", template=NEW, role=role, loads=loads or {H100: 1})
    job["spec"]["replicas"] = wanted
    return at(job, *nodes)


def pods(job: Manifest, *, old: Iterable[int] = (), starting: Iterable[int] = ()) -> list[Manifest]:
    """The pods of a service; those of some replicas have the old template, or do not serve yet."""
    role = {**job["spec"]["roles"][0], "template": OLD}
    before = pods_of({**job, "spec": {**job["spec"], "roles": [role]}})
    found = [
        was if number in old else now
        for number, (was, now) in enumerate(zip(before, pods_of(job), strict=True))
    ]
    for number in starting:
        found[number]["status"]["conditions"] = []
    return found


@dataclass(frozen=True)
class Planned:
    """What a plan makes of the service `s`."""

    replicas: Assignments
    """Where it is, by number."""
    waits: bool
    """Whether none of its replicas that serve is to be renewed now."""
    change: str
    """What becomes of it, in words; "" if nothing."""

    @property
    def nodes(self) -> list[str]:
        """The node of each of its replicas."""
        return [name for each in self.replicas for name in each.nodes]


def planned(*manifests: Manifest) -> Planned:
    """The plan for a cluster of these objects."""
    return planned_in(seen(*manifests))


def planned_in(snapshot: Snapshot) -> Planned:
    """The plan for a cluster, which breaks no rule."""
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    result = PlanResult(plan_input, solve(plan_input.problem, Effort()))
    assert not list(violations(plan_input.problem, result.solution.placements))
    result = with_ordinals(snapshot, result)
    result, broken = renewed(result, plan_input)
    assert not broken
    plan = plan_of(snapshot, result)
    after = [each for job in settled(result).jobs if job.whole_name == NAME for each in job.running]
    assert len({each.replica for each in after}) == len(after), "each number is given once"
    [change] = [each.message for each in plan.changes if each.job == NAME] or [""]
    found = result.placements.get(SolverName(NAME), ())
    return Planned(
        tuple(sorted(found, key=lambda each: each.replica)),
        NAME in plan_input.renewal.waits,
        change,
    )


def nodes(count: int, gpus: int = 1, gpu_type: str = H100) -> list[Manifest]:
    return [fake_node(f"n-{index}", gpu_type, gpus=gpus) for index in range(count)]


def test_one_more_is_placed_before_any_is_renewed() -> None:
    job = a_service("n-0", "n-1")
    found = planned(*nodes(3), job, *pods(job, old=[0, 1]))
    assert (found.nodes, found.waits) == (["n-0", "n-1", "n-2"], True)
    assert found.change == (
        "from 2 to 3 replicas, one more until those of the old pod template are renewed:"
        f" {H100} on n-0, n-1, n-2"
    )


def test_it_may_be_more_than_are_allowed() -> None:
    job = a_service("n-0", "n-1", "n-2", wanted=3)
    found = planned(*nodes(4), job, *pods(job, old=[0, 1, 2]))
    assert found.nodes == ["n-0", "n-1", "n-2", "n-3"]


def test_its_number_is_of_no_pod_that_is_still_there() -> None:
    job = a_service("n-0", "n-1")
    there = pods(job, old=[0, 1])
    [*_, leaving] = pods_of(a_service("n-0", "n-1", "n-2"))
    leaving["metadata"]["deletionTimestamp"] = NOW.isoformat()
    found = planned(*nodes(4), job, *there, leaving)
    assert [each.replica for each in found.replicas] == [0, 1, 3]


def test_no_job_makes_way_for_it() -> None:
    job, train = a_service("n-0", "n-1"), at(a_training_job("t"), "n-2")
    found = planned(*nodes(3), job, *pods(job, old=[0, 1]), train, *pods_of(train))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1"], False, "")


def test_it_takes_no_gpu_that_a_waiting_job_could_have() -> None:
    job, train = a_service("n-0", "n-1"), a_training_job("t")
    found = planned(*nodes(3), job, *pods(job, old=[0, 1]), train)
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1"], False, "")


@pytest.mark.parametrize("starting", [[1], []])
def test_it_goes_first_when_a_more_important_job_comes(starting: list[int]) -> None:
    job = a_service("n-0", "n-1", wanted=1)
    high = a_training_job("t", priorityClassName="high")
    there = pods(job, old=[0], starting=starting)
    found = planned(*nodes(2), a_priority_class("high", 1000), job, *there, high)
    assert found.nodes == ["n-0"] if starting else ["n-1"]


def test_it_goes_first_when_the_limit_of_the_queue_falls() -> None:
    job = a_service("n-0", "n-1", "n-2")
    there = pods(job, old=[0, 1], starting=[2])
    found = planned(*nodes(3), a_queue("default", limit=2), job, *there)
    assert found.nodes == ["n-0", "n-1"]


def test_it_counts_within_the_limit_of_the_queue() -> None:
    queue = a_queue("default", limit=2)
    job = a_service("n-0", "n-1")
    found = planned(*nodes(3), queue, job, *pods(job, old=[0, 1]))
    assert (found.nodes, found.waits) == (["n-0", "n-1"], False)


def test_it_stays_while_it_starts() -> None:
    job = a_service("n-0", "n-1", "n-2")
    found = planned(*nodes(4), job, *pods(job, old=[0, 1], starting=[2]))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1", "n-2"], True, "")


def test_once_it_serves_others_are_renewed_in_place() -> None:
    job = a_service("n-0", "n-1", "n-2")
    found = planned(*nodes(4), job, *pods(job, old=[0, 1]))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1", "n-2"], False, "")


def test_meanwhile_no_other_is_renewed() -> None:
    job = a_service("n-0", "n-1", "n-2")
    found = planned(*nodes(4), job, *pods(job, old=[1], starting=[0]))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1", "n-2"], True, "")


def test_the_last_old_one_goes() -> None:
    job = a_service("n-0", "n-1", "n-2")
    found = planned(*nodes(4), job, *pods(job, old=[1]))
    assert (found.nodes, found.waits) == (["n-0", "n-2"], True)
    assert found.change == (
        f"from 3 to 2 replicas, the last one of the old pod template goes: {H100} on n-0, n-2"
    )


def test_the_last_old_one_is_renewed_if_the_others_carry_too_little() -> None:
    job = serving(a_service("n-0", "n-1", loads={H100: 1, A100: "0.5"}), server=1)
    del job["spec"]["replicas"]
    job["status"]["placement"]["assignments"][1]["acceleratorType"] = A100
    cluster = [fake_node("n-0", H100, gpus=1), fake_node("n-1", A100, gpus=1)]
    found = planned(*cluster, job, *pods(job, old=[0]))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1"], False, "")


def test_with_one_that_does_not_serve_another_is_of_no_use() -> None:
    job = a_service("n-0", "n-1")
    found = planned(*nodes(3), job, *pods(job, old=[0, 1], starting=[0]))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1"], False, "")


def refused(job: Manifest, message: str, *, status: str = "False") -> None:
    """Say of a service that its new pods are refused, or are being tried again."""
    said = {
        "type": "AbleToScale",
        "status": status,
        "reason": "PodRefused",
        "message": message,
        "lastTransitionTime": NOW.isoformat(),
        "observedGeneration": 1,
    }
    job["status"]["conditions"] = [said]


def test_none_is_added_while_new_pods_are_refused() -> None:
    job = a_service("n-0", "n-1")
    refused(job, "no")
    found = planned(*nodes(2, gpus=2), job, *pods(job, old=[0, 1]))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1"], False, "")


def test_another_is_added_when_refused_pods_are_tried_again() -> None:
    job = a_service("n-0", "n-1")
    refused(job, "no", status="Unknown")
    assert planned(*nodes(3), job, *pods(job, old=[0, 1])).nodes == ["n-0", "n-1", "n-2"]


def test_none_is_added_beyond_a_resource_quota() -> None:
    job = a_service("n-0", "n-1")
    refused(job, QUOTA, status="Unknown")
    found = planned(*nodes(3), job, *pods(job, old=[0, 1]))
    assert (found.nodes, found.waits) == (["n-0", "n-1"], False)


def test_over_a_power_budget_a_rollout_waits() -> None:
    job, train = a_service("n-1", "n-1"), at(a_training_job("t", workers=(1, 4)), *["n-2"] * 4)
    job["spec"]["priorityClassName"] = "high"
    del job["status"]["admission"]
    domain = a_domain(2800, quantile="0.5", reaction={"order": ["Shrink"]})
    high = a_priority_class("high", 1000)
    work = [high, job, *pods(job, old=[0, 1]), train, *pods_of(train)]
    found = planned_in(row(domain, work=work))
    assert (found.nodes, found.waits, found.change) == (["n-1", "n-1"], True, "")
    found = planned_in(row(a_domain(9000, quantile="0.5"), work=work))
    assert found.waits
    assert len(found.nodes) == 3


def test_none_stays_on_a_node_that_it_must_leave() -> None:
    job = a_service("n-0", "n-1", "n-2")
    cluster = nodes(3)
    cluster[2]["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    found = planned(*cluster, job, *pods(job, old=[0, 1], starting=[2]))
    assert found.nodes == ["n-0", "n-1"]


def test_none_is_kept_where_its_pod_was_evicted() -> None:
    job = a_service("n-0", "n-1")
    cluster, there = nodes(3), pods(job, old=[0, 1])
    cluster[0]["spec"]["unschedulable"] = True
    there[0]["metadata"]["deletionTimestamp"] = NOW.isoformat()
    assert planned(*cluster, job, *there).nodes == ["n-1", "n-2"]


def test_another_moves_to_its_node_under_another_number() -> None:
    job = a_service("n-0", "n-1", "n-2")
    left, roomy, full = nodes(1)[0], fake_node("n-1", H100, gpus=2), fake_node("n-2", H100, gpus=1)
    left["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    found = planned(left, roomy, full, job, *pods(job, old=[0, 1]))
    assert [(each.replica, *each.nodes) for each in found.replicas] == [
        (1, "n-1"),
        (2, "n-2"),
        (3, "n-1"),
    ]


def test_nothing_is_added_to_a_service_of_one_template() -> None:
    job = a_service("n-0", "n-1")
    found = planned(*nodes(3), job, *pods(job))
    assert (found.nodes, found.waits, found.change) == (["n-0", "n-1"], False, "")
