from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from plimsoll.acting.jobs.draining import NOTICE_DRAIN, SETTLED
from plimsoll.acting.jobs.services.inference import inference_step
from plimsoll.acting.patches import gate_patch
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Preempt, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, a_demand, at, seen
from support.objects.job_manifests import a_power_domain, a_template, an_inference_job

NAME = JobName(f"InferenceJob/{NAMESPACE}/serve")
DRAIN = timedelta(seconds=30)
SPOT_NOTICE = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule", "value": ""}
BROKEN = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "value": ""}


def service(replicas: int = 3, *, drain: str = "30s", **spec: Any) -> Manifest:  # noqa: ANN401
    """Replicas that drain, all placed on one node of four GPUs."""
    role = {"drain": drain, "replicas": {"min": 0, "max": 4}}
    return at(an_inference_job("serve", role=role, **spec), *["node"] * replicas)


def stepped(
    *manifests: Manifest,
    decided: Action | None = None,
    taint: Manifest | None = None,
    now: datetime = NOW,
    waits: bool = False,
    **known: Any,  # noqa: ANN401 - of the load
) -> Step:
    """What becomes of the job in one turn."""
    node = fake_node("node", gpus=4)
    node["spec"]["taints"] = [taint] if taint else []
    demands = [a_demand("serve", **known)] if known else []
    snapshot = seen(node, fake_node("other", gpus=4), *manifests, now=now, demands=demands)
    (view,) = snapshot.jobs
    assert view.inference is not None
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    held = {NAME: frozenset({"server"})} if waits else {}
    turn = Turn(snapshot, Occupancy(snapshot), decided=actions, renewal_waits=held)
    return inference_step(view, view.inference, turn)


def pods(job: Manifest) -> list[Manifest]:
    """The pods that the job's placement leads to, all of which serve."""
    made = list(stepped(job).create)
    for pod in made:
        pod["metadata"]["creationTimestamp"] = (NOW - timedelta(minutes=5)).isoformat()
        pod["spec"]["nodeName"] = "node"
        kinds = ("Ready", "ContainersReady")
        conditions = [{"type": kind, "status": "True"} for kind in kinds]
        pod["status"] = {"phase": "Running", "conditions": conditions}
        say(pod, opens=True, since=NOW - timedelta(minutes=5))
    return made


def say(pod: Manifest, *, opens: bool, since: datetime) -> None:
    """Set the gate of a pod as it was set at a time; the kubelet has seen it."""
    answers = "True" if opens else "False"
    others = [c for c in pod["status"]["conditions"] if c["type"] not in ("Ready", GATE)]
    gate = {"type": GATE, "status": answers, "lastTransitionTime": since.isoformat()}
    pod["status"]["conditions"] = [*others, {"type": "Ready", "status": answers}, gate]


GATE = "plimsoll.dev/serving"


def draining(pod: Manifest, *, seconds: float) -> None:
    say(pod, opens=False, since=NOW - timedelta(seconds=seconds))


def without(job: Manifest, replica: int) -> Manifest:
    """The job with one place less."""
    placement = job["status"]["placement"]
    places = [each for each in placement["assignments"] if each["replica"] != replica]
    return {**job, "status": {**job["status"], "placement": {**placement, "assignments": places}}}


def gone(step: Step) -> list[int]:
    return [pod.replica for pod in step.delete]


def turned(step: Step) -> list[tuple[int, bool]]:
    """The replicas whose gates are set, and whether they are opened."""
    return [(change.pod.replica, change.opens) for change in step.gates]


def reported(step: Step) -> int:
    assert isinstance(step.status, InferenceJobStatus)
    return sum(role.draining for role in step.status.roles)


def test_pods_of_a_role_that_drains_have_the_gate_beside_their_own() -> None:
    own = a_template(readinessGates=[{"conditionType": "own/gate"}])
    (pod,) = stepped(service(1, template=own)).create
    gates = [gate["conditionType"] for gate in pod["spec"]["readinessGates"]]
    assert gates == ["own/gate", GATE]
    (plain,) = stepped(service(1, drain="0s")).create
    assert "readinessGates" not in plain["spec"]


def test_a_new_pod_is_let_serve() -> None:
    job = service(1)
    (pod,) = pods(job)
    pod["status"] = {"phase": "Pending", "conditions": []}
    step = stepped(job, pod)
    assert turned(step) == [(0, True)]
    (change,) = step.gates
    (said,) = gate_patch(change)["status"]["conditions"]
    assert (said["type"], said["status"]) == (GATE, "True")


def test_pods_that_serve_are_left_alone() -> None:
    job = service()
    assert not stepped(job, *pods(job)).gates


def test_a_replica_that_goes_is_taken_out_and_not_yet_deleted() -> None:
    job = service()
    step = stepped(without(job, 1), *pods(job))
    assert (turned(step), gone(step), reported(step)) == ([(1, False)], [], 1)
    assert step.again_at == NOW + DRAIN
    assert [event.reason for event in step.events] == [Reason.DRAINING]
    assert "12:00:30 UTC" in step.events[0].message


def test_a_replica_that_drains_is_waited_for_and_taken_out_once() -> None:
    job = service()
    there = pods(job)
    draining(there[1], seconds=10)
    step = stepped(without(job, 1), *there)
    assert (step.gates, gone(step), step.events) == ((), [], ())
    assert step.again_at == NOW + timedelta(seconds=20)


def test_a_replica_is_deleted_when_its_drain_is_over() -> None:
    job = service()
    there = pods(job)
    draining(there[1], seconds=30)
    step = stepped(without(job, 1), *there)
    assert (step.gates, gone(step), reported(step)) == ((), [1], 0)


@pytest.mark.parametrize(
    ("running", "measured", "goes"),
    [
        (0.0, SETTLED, True),
        (0.0, SETTLED - timedelta(seconds=1), False),
        (1.0, SETTLED, False),
        (None, SETTLED, False),
    ],
)
def test_a_replica_goes_early_once_it_was_surely_seen_without_requests(
    running: float | None, measured: timedelta, *, goes: bool
) -> None:
    job = service(drain="10m")
    there = pods(job)
    draining(there[1], seconds=120)
    since = NOW - timedelta(seconds=120)
    counts = {"serve-server-1": running} if running is not None else {"serve-server-0": 0.0}
    step = stepped(without(job, 1), *there, at=since + measured, running_requests=counts)
    assert gone(step) == ([1] if goes else [])


def never_served(pod: Manifest) -> None:
    pod["status"]["conditions"] = []


def broke_down(pod: Manifest) -> None:
    draining(pod, seconds=1)
    pod["status"]["conditions"] = [
        each for each in pod["status"]["conditions"] if each["type"] != "ContainersReady"
    ]


def ended(pod: Manifest) -> None:
    pod["status"]["phase"] = "Failed"


def without_gate(pod: Manifest) -> None:
    del pod["spec"]["readinessGates"]


@pytest.mark.parametrize("happened", [never_served, broke_down, ended, without_gate])
def test_what_can_have_no_requests_or_no_gate_goes_at_once(
    happened: Callable[[Manifest], None],
) -> None:
    job = service()
    there = pods(job)
    happened(there[1])
    assert gone(stepped(without(job, 1), *there)) == [1]


def test_a_pod_too_busy_for_its_probe_drains_while_it_is_known_to_have_requests() -> None:
    job = service()
    there = pods(job)
    kinds = ("Ready", "ContainersReady")
    kept = [c for c in there[1]["status"]["conditions"] if c["type"] not in kinds]
    there[1]["status"]["conditions"] = kept
    step = stepped(without(job, 1), *there, running_requests={"serve-server-1": 3.0})
    assert (turned(step), gone(step)) == ([(1, False)], [])


def test_a_drain_that_is_no_more_wanted_ends() -> None:
    job = service()
    there = pods(job)
    assert gone(stepped(without(service(drain="0s"), 1), *there)) == [1]


def test_on_a_node_that_is_taken_back_a_drain_is_short() -> None:
    job = service()
    step = stepped(without(job, 1), *pods(job), taint=SPOT_NOTICE)
    assert step.again_at == NOW + NOTICE_DRAIN
    short = service(drain="5s")
    step = stepped(without(short, 1), *pods(short), taint=SPOT_NOTICE)
    assert step.again_at == NOW + timedelta(seconds=5)


def test_a_broken_node_is_left_at_once() -> None:
    job = service()
    assert gone(stepped(without(job, 1), *pods(job), taint=BROKEN)) == [1]


def suspended(job: Manifest) -> tuple[Manifest, Action | None]:
    return {**job, "spec": {**job["spec"], "suspend": True}}, None


def preempted(job: Manifest) -> tuple[Manifest, Action | None]:
    return job, Preempt(NAME, Reason.PREEMPTED, "makes room")


@pytest.mark.parametrize("loses", [suspended, preempted])
def test_who_loses_the_whole_place_drains_as_well(
    loses: Callable[[Manifest], tuple[Manifest, Action | None]],
) -> None:
    job = service(2)
    there = pods(job)
    changed, decided = loses(job)
    step = stepped(changed, *there, decided=decided)
    assert (turned(step), gone(step), reported(step)) == ([(0, False), (1, False)], [], 2)
    for pod in there:
        draining(pod, seconds=30)
    after = {**changed, "status": step.status.wire()}
    assert gone(stepped(after, *there)) == [0, 1]
    over = stepped(after)
    assert reported(over) == 0


def test_the_pods_of_one_replica_drain_together() -> None:
    role = {"drain": "30s", "podsPerReplica": 2, "replicas": {"min": 0, "max": 2}}
    job = at(an_inference_job("serve", gpus=2, role=role), "node")
    job["status"]["placement"]["assignments"][0]["nodes"] = ["node", "node"]
    both = pods(job)
    draining(both[0], seconds=30)
    step = stepped(without(job, 0), *both)
    assert [(c.pod.rank, c.opens) for c in step.gates] == [(1, False)]
    assert not step.delete, "the time counts from when all were taken out"
    draining(both[1], seconds=29)
    counts = {"serve-server-0-0": 0.0}
    step = stepped(without(job, 0), *both, at=NOW + SETTLED, running_requests=counts)
    assert gone(step) == [0, 0], "of the first it is known"


def assignments(count: int) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(RoleName("server"), number, GpuType(H100), (NodeName("node"),))
        for number in range(count)
    )


def test_a_place_that_is_wanted_again_takes_back_what_drains_there() -> None:
    job = service()
    there = pods(job)
    draining(there[2], seconds=10)
    step = stepped(
        without(job, 2), *there, decided=Resize(NAME, assignments(3), Reason.RESIZED, "more again")
    )
    assert (turned(step), gone(step), step.create, reported(step)) == ([(2, True)], [], (), 0)
    assert isinstance(step.status, InferenceJobStatus)
    assert step.status.placement is not None
    assert [each.revision for each in step.status.placement.assignments] == [1, 1, 1]


def test_a_place_with_other_gpus_waits_until_what_drains_there_has_gone() -> None:
    job = service()
    there = pods(job)
    draining(there[2], seconds=10)
    there[2]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "2"}
    step = stepped(
        without(job, 2), *there, decided=Resize(NAME, assignments(3), Reason.RESIZED, "more")
    )
    assert (turned(step), gone(step), step.create) == ([], [], ())


def renewed(job: Manifest) -> Manifest:
    """The job with another image."""
    template = a_template()
    template["spec"]["containers"][0]["image"] = "main:2"
    return {**job, "spec": service(template=template)["spec"]}


def test_a_rollout_drains_a_replica_before_it_renews_it_and_no_other_meanwhile() -> None:
    old = pods(service())
    assert turned(stepped(renewed(service()), *old)) == [(0, False)]
    draining(old[0], seconds=10)
    step = stepped(renewed(service()), *old)
    assert (step.gates, gone(step)) == ((), [])
    draining(old[0], seconds=30)
    assert gone(stepped(renewed(service()), *old)) == [0]


def test_a_rollout_leaves_those_for_last_that_are_not_alone_on_their_node() -> None:
    """The last is not renewed but goes, if one more serves than is wanted."""
    job = at(service(), "node", "other", "node")
    new = pods(renewed(job))
    old = pods(job)
    assert turned(stepped(renewed(job), *old)) == [(1, False)]
    assert turned(stepped(renewed(job), *old[:2], new[2])) == [(1, False)]


def test_a_rollout_waits_until_one_more_serves() -> None:
    old = pods(service())
    step = stepped(renewed(service()), *old, waits=True)
    assert (step.gates, gone(step)) == ((), [])


def test_a_replica_that_does_not_serve_is_renewed_at_once() -> None:
    old = pods(service())
    old[1]["status"]["conditions"] = []
    assert gone(stepped(renewed(service()), *old, waits=True)) == [1]


def test_a_rollout_that_has_begun_with_a_replica_goes_on_with_it() -> None:
    old = pods(service())
    draining(old[0], seconds=30)
    assert gone(stepped(renewed(service()), *old, waits=True)) == [0]


def refused(job: Manifest) -> Manifest:
    """The job, of which new pods never became ready a moment ago."""
    said = {
        "type": "AbleToScale",
        "status": "False",
        "reason": "PodsReadyTimeout",
        "message": "no",
        "lastTransitionTime": NOW.isoformat(),
        "observedGeneration": 1,
    }
    roles = [{"name": "server", "wanted": 3, "ready": 3}]
    told = {"conditions": [said], "roles": roles, "refusals": 2, "observedGeneration": 1}
    return {**job, "spec": {**job["spec"], "replicas": 3}, "status": {**job["status"], **told}}


def test_a_new_pod_that_a_quota_refuses_takes_the_place_of_an_old_one() -> None:
    job = refused(renewed(service()))
    [said] = job["status"]["conditions"]
    quota = "exceeded quota: q, requested: pods=1, used: pods=3,cpu=1500m, limited: pods=3,cpu=2"
    said |= {"reason": "PodRefused", "message": f'pods "s" is forbidden: {quota}'}
    assert turned(stepped(job, *pods(service()))) == [(0, False)]
    said["message"] = said["message"].replace("limited: pods=3", "limited: pods=2")
    assert turned(stepped(job, *pods(service()))) == [], "it would be refused there as well"
    said["message"] = said["message"].replace("used: pods=3", "used: pods=few")
    assert turned(stepped(job, *pods(service()))) == []


def test_a_new_pod_that_no_scheduler_binds_is_not_tried_again_and_again() -> None:
    job = renewed(service())
    there = [*pods(service())[:2], pods(job)[2]]
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    why["message"] = "0/1 nodes are available: 1 node(s) didn't have free ports."
    there[2]["status"] = {"phase": "Pending", "conditions": [why]}
    del there[2]["spec"]["nodeName"]
    step = stepped(job, *there)
    status = step.status
    assert isinstance(status, InferenceJobStatus)
    able = next(each for each in status.conditions if each.type == "AbleToScale")
    assert (able.status, able.reason) == ("False", "PodRefused")
    assert able.message.startswith("kube-scheduler refused serve-server-2 on node: 0/1 nodes")
    assert [each.node for each in status.avoided_nodes] == ["node"]
    assert status.placement is not None
    assert [each.replica for each in status.placement.assignments] == [0, 1]
    assert (turned(step), gone(step)) == ([], [])


@pytest.mark.parametrize("new", [0, 1])
def test_a_template_that_never_started_renews_nothing_though_all_old_ones_serve(new: int) -> None:
    job = refused(renewed(service()))
    there = [*pods(renewed(service()))[:new], *pods(service())[new:]]
    step = stepped(job, *there)
    kinds = [each.type for each in step.status.conditions]
    assert ("AbleToScale" in kinds) == (not new), "it is over once a new one serves"
    assert step.status.refusals == (0 if new else 2), "the next pause is longer"
    assert (turned(step) == []) == (not new)


def test_a_pod_that_has_lost_its_hash_is_not_renewed() -> None:
    old = pods(service())
    for pod in old[:2]:
        del pod["metadata"]["labels"]["plimsoll.dev/template-hash"]
    assert turned(stepped(renewed(service()), *old)) == [(2, False)]


def test_a_rollout_that_is_taken_back_lets_the_draining_replica_serve_on() -> None:
    old = pods(service())
    draining(old[0], seconds=10)
    step = stepped(service(), *old)
    assert (turned(step), gone(step)) == ([(0, True)], [])


def test_a_rollout_goes_on_though_replicas_wait_for_room() -> None:
    two = pods(service(2))
    waits = at(service(), *["node"] * 2, "gone")
    assert turned(stepped(renewed(waits), *two)) == [(0, False)]


def test_a_rollout_takes_nobody_out_while_a_new_pod_is_not_ready() -> None:
    job = renewed(service())
    new, old = pods(job), pods(service())
    new[2]["status"]["conditions"] = [
        each for each in new[2]["status"]["conditions"] if each["type"] == GATE
    ]
    down = old[1]
    down["status"]["conditions"] = [c for c in down["status"]["conditions"] if c["type"] == GATE]
    step = stepped(job, old[0], old[1], new[2])
    assert (step.gates, gone(step)) == ((), []), "not even one that is down, and may come back"


def over(seconds: float, *, is_over: bool = True) -> Manifest:
    """A power domain with the node, which has drawn too much, or not too much, for so long."""
    domain = a_power_domain("row-a", {"type": "kwok"}, budget_watts=1500, overshootLimit="10s")
    within = {"type": "WithinBudget", "status": str(not is_over), "reason": "PowerOvershoot"}
    since = (NOW - timedelta(seconds=seconds)).isoformat()
    conditions = [{**within, "lastTransitionTime": since}]
    return {**domain, "status": {"conditions": conditions, "observedGeneration": 1}}


FOR_POWER = Preempt(NAME, Reason.EVICTED, "for power", power_domain="row-a")


@pytest.mark.parametrize("decided", [None, FOR_POWER], ids=["goes anyway", "goes for power"])
def test_in_a_domain_over_its_budget_a_drain_has_no_more_time_than_the_domain(
    decided: Action | None,
) -> None:
    job = service(1)
    pod, *_ = pods(job)
    leaving = job if decided else without(job, 0)
    step = stepped(leaving, pod, over(4), decided=decided)
    assert (gone(step), step.again_at) == ([], NOW + timedelta(seconds=6))
    [change] = step.gates
    by = "is deleted by 12:00:06 UTC: power domain row-a may exceed its budget for only 10s"
    assert change.message == f"gets no new requests and {by}"
    draining(pod, seconds=6)
    late = stepped(without(job, 0), pod, over(10))
    assert gone(late) == [0]
    [event] = [event for event in late.events if event.reason is Reason.POWER_OVERSHOOT]
    assert event.warning
    assert "serve-server-0: its drain ends early: power domain row-a" in event.message


@pytest.mark.parametrize(
    "domain",
    [
        over(60, is_over=False),
        {**over(60), "spec": {**over(60)["spec"], "nodeSelector": {"other": "row"}}},
    ],
    ids=["within its budget", "of other nodes"],
)
def test_other_domains_leave_a_drain_its_time(domain: Manifest) -> None:
    job = service(1)
    pod, *_ = pods(job)
    step = stepped(without(job, 0), pod, domain)
    assert (gone(step), step.again_at) == ([], NOW + DRAIN)


def test_a_rollout_drains_as_ever_for_it_saves_no_power() -> None:
    job = service(2)
    old = pods(job)
    step = stepped(renewed(job), *old, over(60))
    assert step.again_at == NOW + DRAIN
    assert len(turned(step)) == 1
    assert gone(step) == []
