"""Who gets what there is: queues, priorities, power, spot shares, and what may not be disturbed."""

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

JOBS_AND_A_GANG = (("first", 1), ("second", 1), ("gang", 2))
KEPT = (
    "needs 2 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 0;"
    " node is kept free for it"
)


def some_jobs(prefix: str, count: int, queue: str) -> list[Manifest]:
    return [a_training_job(f"{prefix}-{index}", queue=queue) for index in range(count)]


def placed(scene: Scene, jobs: list[Manifest]) -> list[Manifest]:
    return [job for job in jobs if scene.status(job).get("placement")]


def until_placed(scene: Scene, jobs: list[Manifest], count: int) -> None:
    wait_until(
        lambda: len(placed(scene, jobs)) == count,
        timeout_seconds=SECONDS,
        what=f"{count} of {len(jobs)} jobs have a place",
    )


def test_a_queue_stays_within_its_limit_and_its_parents(scene: Scene) -> None:
    scene.add_nodes(fake_node("roomy", H100, 8))
    scene.apply(
        a_queue("division", limit=5),
        a_queue("vision", parent="division", limit=3),
        a_queue("speech", parent="division"),
    )
    vision, speech = some_jobs("vision", 5, "vision"), some_jobs("speech", 5, "speech")
    scene.apply(*vision)
    until_placed(scene, vision, 3)
    held = next(job for job in vision if job not in placed(scene, vision))
    status = scene.until(held, reason="QueueLimit")
    assert status["message"] == ("needs 1 × NVIDIA-H100-80GB-HBM3; queue vision may still use 0")
    scene.apply(*speech)
    until_placed(scene, speech, 2)
    held = next(job for job in speech if job not in placed(scene, speech))
    said = scene.until(held, reason="QueueLimit")["message"]
    assert said.endswith("queue division may still use 0")
    assert len(placed(scene, vision)) == 3


def test_idle_capacity_is_borrowed_and_comes_back_to_its_owner(scene: Scene) -> None:
    scene.add_nodes(fake_node("owned", H100, 4))
    scene.apply(a_queue("owner", guaranteed=3), a_queue("guest"))
    guests = some_jobs("guest", 4, "guest")
    scene.apply(*guests)
    for guest in guests:
        scene.running(guest)
    owner = a_training_job("owner", gpus=3, queue="owner")
    scene.apply(owner)
    assert scene.running(owner).nodes == ["owned"]
    until_placed(scene, guests, 1)
    reclaimed = next(guest for guest in guests if guest not in placed(scene, guests))
    events = scene.events(reclaimed, "InCohortReclamation")
    assert "returns what is guaranteed to TrainingJob/" in events[0]["note"]
    more = a_training_job("beyond", queue="owner")
    scene.apply(more)  # beyond the guarantee nothing is taken from anybody
    scene.until(more, reason="InsufficientGPUs")
    assert len(placed(scene, guests)) == 1


def test_what_is_free_is_shared_out_by_the_weights_of_queues(scene: Scene) -> None:
    light, heavy = some_jobs("light", 8, "light"), some_jobs("heavy", 8, "heavy")
    scene.apply(a_queue("light", weight=1), a_queue("heavy", weight=3), *light, *heavy)
    scene.until(heavy[-1], reason="CannotFit")
    scene.until(light[-1], reason="CannotFit")
    scene.add_nodes(fake_node("fair", H100, 8))
    until_placed(scene, heavy, 6)
    until_placed(scene, light, 2)


PRIORITIES = (a_priority_class("urgent", 1000), a_priority_class("minor", 10))


def test_the_lowest_priority_with_the_least_to_lose_gives_way(scene: Scene) -> None:
    scene.add_nodes(fake_node("full", H100, 4))
    costly: Manifest = {"checkpoint": {"saveSeconds": 600, "restoreSeconds": 600}}
    cheap: Manifest = {"checkpoint": {"saveSeconds": 1, "restoreSeconds": 1}}
    plain = a_training_job("plain")
    dear = a_training_job("dear", priorityClassName="minor", **costly)
    light = a_training_job("light", priorityClassName="minor", **cheap)
    base = a_training_job("base", priorityClassName="minor", **costly)
    scene.apply(*PRIORITIES, plain, dear, light, base)
    before = {each["metadata"]["name"]: scene.running(each) for each in (plain, dear, light, base)}
    equal = a_training_job("equal")
    scene.apply(equal)
    scene.until(equal, reason="LowerPriority")
    assert scene.running(plain).uids == before["plain"].uids
    urgent = a_training_job("urgent", priorityClassName="urgent")
    scene.apply(urgent)
    scene.running(urgent)
    scene.until(plain, reason="LowerPriority")
    assert scene.events(plain, "Preempted")[0]["note"] == (
        f"makes room for TrainingJob/{scene.namespace}/urgent (priority 1000)"
    )
    second = a_training_job("second", priorityClassName="urgent")
    scene.apply(second)
    scene.running(second)
    scene.until(light, reason="LowerPriority")
    for kept in (dear, base):
        assert scene.running(kept).uids == before[kept["metadata"]["name"]].uids


def test_no_more_of_a_job_is_on_spot_nodes_than_it_allows(scene: Scene) -> None:
    scene.add_nodes(
        fake_node("steady", L4, 4, labels={"terms": "steady"}),
        fake_node("spot", L4, 8, labels={"terms": "spot"}),
    )
    scene.apply(
        a_pool("steady", {"terms": "steady"}, pricePerGPUHour="1"),
        a_pool("spot", {"terms": "spot"}, pricePerGPUHour="0.3", capacityType="Spot"),
    )
    rates = {L4: 4}
    half = {"allowed": True, "maxSharePercent": 50}
    mixed = a_training_job("mixed", workers=4, rates=rates, spot=half)
    scene.apply(mixed)
    assert sorted(scene.running(mixed).nodes) == ["spot", "spot", "steady", "steady"]
    careful = a_training_job("careful", workers=2, rates=rates)
    scene.apply(careful)
    assert scene.running(careful).nodes == ["steady", "steady"]
    late = a_training_job("late", workers=2, rates=rates, spot=half)
    scene.apply(late)
    said = scene.until(late, reason="SpotShare")["message"]
    assert said.endswith(
        "there is room for 0 of its 2 pods off spot nodes, and at most 1 may be on spot"
    )
    free = a_training_job("free", workers=2, rates=rates, spot={"allowed": True})
    scene.apply(free)
    assert scene.running(free).nodes == ["spot", "spot"]


POWER = {"idleWatts": 100, "typicalWatts": 600, "limitWatts": 700}


def test_a_job_waits_for_power_by_what_is_expected_to_be_drawn(scene: Scene) -> None:
    scene.add_nodes(fake_node("hot", H100, 8, labels={"row": "a"}))
    scene.apply(
        a_pool("hot", {"row": "a"}, power=POWER),
        a_power_domain("row-a", {"row": "a"}, budget_watts=2900, quantile="0.5"),
    )
    jobs = [a_training_job(f"job-{index}", gpus=2) for index in range(3)]
    scene.apply(*jobs[:2])
    for job in jobs[:2]:
        scene.running(job)
    scene.apply(jobs[2])
    status = scene.until(jobs[2], reason="PowerBudget")
    assert status["message"] == (
        "needs 900 W more than power domain row-a has left (budget 2.9 kW)"
    )
    domain = a_power_domain("row-a", {}, budget_watts=0)
    scene.until(domain, expectedWatts=2800, nodes=1, budgetWatts=2900)
    scene.edit(domain, {"budgetWatts": 3800})
    scene.running(jobs[2])
    scene.until(domain, expectedWatts=3800)


def test_a_budget_that_falls_below_what_is_drawn_is_kept_to(scene: Scene) -> None:
    scene.add_nodes(fake_node("hot", H100, 2, labels={"row": "a"}))
    domain = a_power_domain("row-a", {"row": "a"}, budget_watts=1200, quantile="0.5")
    scene.apply(a_pool("hot", {"row": "a"}, power=POWER), domain)
    jobs = [a_training_job("first"), a_training_job("second")]
    scene.apply(*jobs)
    for job in jobs:
        scene.running(job)
    scene.edit(domain, {"budgetWatts": 1199})
    until_placed(scene, jobs, 1)
    scene.until(domain, expectedWatts=700)


def test_nothing_moves_when_others_come_and_go(scene: Scene) -> None:
    scene.add_nodes(fake_node("one", H100, 4), fake_node("two", H100, 4))
    jobs = [a_training_job("gang", workers=4), an_inference_job("service", replicas=2)]
    scene.apply(*jobs)
    before = [scene.running(job).uids for job in jobs]
    visitor = a_training_job("visitor", gpus=2)
    scene.apply(visitor)
    scene.running(visitor)
    scene.delete(visitor)
    last = a_training_job("last", gpus=2)
    scene.apply(last)
    scene.running(last)
    assert [scene.running(job).uids for job in jobs] == before


def test_a_gang_shrinks_for_a_newcomer_and_grows_into_what_is_idle(scene: Scene) -> None:
    scene.add_nodes(fake_node("elastic", H100, 8))
    gang = a_training_job("gang", workers=(2, 8), allowed=(2, 4, 8), rates={H100: {2: 2, 8: 8}})
    scene.apply(gang)
    wait_until_workers(scene, gang, 8)
    newcomer = a_training_job("newcomer", gpus=3)
    scene.apply(newcomer)
    scene.running(newcomer)
    wait_until_workers(scene, gang, 4)
    resized = scene.events(gang, "Resized")[0]["note"]
    who = f"TrainingJob/{scene.namespace}/newcomer (priority 0)"
    where = "NVIDIA-H100-80GB-HBM3 on elastic ×4"
    assert resized == f"from 8 to 4 workers, makes room for {who}: {where}"
    scene.delete(newcomer)
    wait_until_workers(scene, gang, 8)


@pytest.mark.slow
def test_a_gang_that_has_waited_long_gets_its_turn_among_small_jobs(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    scene.apply(a_policy(reservation={"after": "2s"}))
    first, second, gang = (a_training_job(name, gpus=n) for name, n in JOBS_AND_A_GANG)
    scene.apply(first, second)
    scene.running(first)
    scene.running(second)
    scene.apply(gang)
    scene.until(gang, message=KEPT)
    scene.delete(first)
    late = a_training_job("late")
    scene.apply(late)
    message = scene.until(late, reason="Reserved")["message"]
    assert message.startswith(
        f"there is room for it, but node is kept free for TrainingJob/{scene.namespace}/gang,"
    )
    scene.delete(second)
    scene.running(gang)
    scene.until(late, reason="InsufficientGPUs")


def wait_until_workers(scene: Scene, gang: Manifest, workers: int) -> None:
    scene.until(gang, workerCount=workers)
    wait_until(
        lambda: len(scene.running(gang).nodes) == workers,
        timeout_seconds=SECONDS,
        what=f"{workers} workers run",
    )


def test_training_and_inference_are_planned_together(scene: Scene) -> None:
    scene.add_nodes(fake_node("h100", H100, 4), fake_node("a100", A100, 4))
    train = a_training_job("train", workers=4, rates={H100: 40, A100: 10}, queue="both")
    serve = an_inference_job("serve", replicas=4, loads={H100: 2, A100: 1}, queue="both")
    scene.apply(serve, train, a_queue("both"))
    assert scene.running(train).gpu_types == {H100}
    assert scene.running(serve).gpu_types == {A100}


def test_what_must_not_be_disturbed_is_left_alone(scene: Scene) -> None:
    scene.add_nodes(fake_node("pinned", H100, 3))
    labels = {"app": "precious"}
    budget = a_guard(labels, minAvailable=1)
    served = an_inference_job("served", template=a_template(labels=labels))
    fresh = a_training_job("fresh", disruption={"minRuntime": "1h"})
    loose = a_training_job("loose")
    scene.apply(budget, *PRIORITIES, served, fresh, loose)
    kept = [scene.running(job).uids for job in (served, fresh)]
    scene.running(loose)
    scene.until(budget, disruptionsAllowed=0, currentHealthy=1)
    urgent = [a_training_job(f"urgent-{n}", priorityClassName="urgent") for n in range(2)]
    scene.apply(urgent[0])
    scene.running(urgent[0])
    scene.until(loose, placement=None)
    scene.apply(urgent[1])
    said = scene.until(urgent[1], reason="InsufficientGPUs")["message"]
    assert "jobs that must not be moved hold 2" in said
    assert f"moving them would violate PodDisruptionBudget {scene.namespace}/guard" in said
    assert [scene.running(job).uids for job in (served, fresh)] == kept
    scene.delete(budget)
    scene.running(urgent[1])


def a_guard(labels: dict[str, str], **spec: int) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard"},
        "spec": {**spec, "selector": {"matchLabels": labels}},
    }


def test_a_guarded_service_grows_shrinks_and_sleeps_as_its_user_wishes(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    guard = a_guard({"app": "guarded"}, minAvailable=1)
    service = an_inference_job(
        "service",
        template=a_template(labels={"app": "guarded"}),
        role={"replicas": {"min": 0, "max": 3}},
    )
    scene.apply(guard, service)
    scene.until(service, reason="ScaledToZero", replicas=0)
    scene.edit(service, {"replicas": 1})
    first = scene.running(service).uids
    scene.until(guard, currentHealthy=1, disruptionsAllowed=0)
    scene.edit(service, {"replicas": 3})
    scene.until(service, replicas=3)
    assert first < scene.running(service).uids
    scene.edit(service, {"replicas": 1})
    scene.until(service, replicas=1)
    wait_until(
        lambda: scene.running(service).uids == first,
        timeout_seconds=SECONDS,
        what="only the first replica is left",
    )
    scene.edit(service, {"replicas": 0})
    scene.until(service, reason="ScaledToZero", replicas=0)
    wait_until(lambda: not scene.pods_of(service), timeout_seconds=SECONDS, what="none is left")


def test_a_closed_node_takes_nothing_new_and_one_with_a_notice_is_left(scene: Scene) -> None:
    scene.add_nodes(fake_node("a-cordoned", H100, 2), fake_node("b-noticed", H100, 2))
    first = a_training_job("first")
    scene.apply(first)
    before = scene.running(first)
    assert before.nodes == ["a-cordoned"]
    scene.node("a-cordoned", {"spec": {"unschedulable": True}})
    second = a_training_job("second")
    scene.apply(second)
    assert scene.running(second).nodes == ["b-noticed"]
    assert scene.running(first).uids == before.uids
    scene.add_nodes(fake_node("c-fresh", H100, 1))
    notice = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    scene.node("b-noticed", {"spec": {"taints": [notice]}})
    scene.until(second, nodesSummary="c-fresh")
    assert scene.running(second).nodes == ["c-fresh"]
    assert scene.events(second, "NodeLeft")[0]["note"] == (
        "left b-noticed (Draining), now NVIDIA-H100-80GB-HBM3 on c-fresh"
    )
    third = a_training_job("third")
    scene.apply(third)
    said = scene.until(third, reason="InsufficientGPUs")["message"]
    assert said.endswith("none is free on the 1 of 3 nodes that it may use")


def test_a_restart_of_the_operator_changes_nothing(scene: Scene) -> None:
    scene.add_nodes(fake_node("one", H100, 4), fake_node("two", H100, 4))
    jobs = [
        a_training_job("elastic", workers=(1, 4)),
        a_training_job("gang", workers=2),
        an_inference_job("service", replicas=2),
    ]
    scene.apply(*jobs)
    before = [(running.status, running.uids) for running in map(scene.running, jobs)]
    scene.operator.kill()
    late = a_training_job("late", workers=8)
    scene.apply(late)
    scene.operator.start()
    scene.until(late, reason="InsufficientGPUs")
    assert [(running.status, running.uids) for running in map(scene.running, jobs)] == before


def gpu_types(job: Manifest) -> list[str]:
    placement: Manifest = job.get("placement") or {}
    places: list[Manifest] = placement.get("assignments", [])
    return sorted(place["acceleratorType"] for place in places)


def test_the_more_important_service_gets_the_cheap_type_and_the_other_spills_over(
    scene: Scene,
) -> None:
    prices = {"cheap": (H100, "1"), "next": (A100, "2"), "dear": (L4, "3")}
    pools = [
        a_pool(name, {"nvidia.com/gpu.product": kind}, pricePerGPUHour=price)
        for name, (kind, price) in prices.items()
    ]
    carries = {H100: 4, A100: 4, L4: 4}
    minor = an_inference_job("a-minor", loads=carries, replicas=3, priorityClassName="minor")
    urgent = an_inference_job("urgent", loads=carries, replicas=2, priorityClassName="urgent")
    scene.apply(*PRIORITIES, *pools, minor, urgent)
    scene.add_nodes(fake_node("cheap", H100, 2))
    scene.running(urgent)
    assert gpu_types(scene.status(urgent)) == [H100, H100]
    assert gpu_types(scene.status(minor)) == []
    scene.add_nodes(fake_node("dear", L4, 2), fake_node("next", A100, 2))
    scene.running(minor)
    assert A100 in gpu_types(scene.status(minor))
    assert gpu_types(scene.status(urgent)) == [H100, H100]
