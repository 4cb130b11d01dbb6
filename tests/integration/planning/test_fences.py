"""What a tenant may not have is refused to what it runs, too: its jobs stay what they were."""

import secrets
from collections.abc import Iterator

import pytest

from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.leftovers import remove_namespace
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import fail
from support.clusters.scene import SECONDS, Scene, conditions
from support.objects.job_manifests import (
    a_policy,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def greedy(scene: Scene) -> Iterator[Scene]:
    """Another tenant of the same cluster."""
    name = f"greedy-{secrets.token_hex(4)}"
    scene.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_until(lambda: scene.api.exists(account), timeout_seconds=30, what=f"{account} exists")
    yield Scene(scene.api, name)
    remove_namespace(scene.api, name)


def test_a_running_job_that_is_edited_to_what_it_may_not_have_takes_nobodys_place(
    scene: Scene, greedy: Scene
) -> None:
    scene.add_nodes(fake_node("node", H100, 8))
    scene.apply(
        a_priority_class("batch", 10),
        a_priority_class("usual", 50),
        a_priority_class("urgent", 1000),
        a_queue("theirs", priorityClassNames=["batch"]),
    )
    gang = a_training_job("gang", workers=4, priorityClassName="usual")
    scene.apply(gang)
    before = scene.running(gang).uids
    job = a_training_job("job", workers=2, queue="theirs", priorityClassName="batch")
    greedy.apply(job)
    mine = greedy.running(job).uids
    assert greedy.status(job)["admission"] == {
        "queue": "theirs",
        "priorityClassName": "batch",
        "priority": 10,
    }
    greedy.edit(job, {"priorityClassName": "urgent", "workers": {"min": 8, "max": 8}})
    said = greedy.until(job, reason="PriorityNotAllowed")
    assert conditions(said)["Accepted"] == "False"
    assert "queue theirs allows its jobs no PriorityClass urgent, only batch" in said["message"]
    (event,) = greedy.events(job, "PriorityNotAllowed")
    assert event["type"] == "Warning"
    # Whoever comes afterwards is planned beside both, as they were.
    beside = a_training_job("beside", workers=2, priorityClassName="usual")
    scene.apply(beside)
    scene.running(beside)
    assert scene.running(gang).uids == before
    assert greedy.running(job).uids == mine
    # And it gives way by the priority that it was admitted with.
    owed = a_training_job("owed", workers=2, priorityClassName="urgent")
    scene.apply(owed)
    scene.running(owed)
    greedy.until(job, placement=None)
    assert scene.running(gang).uids == before


def test_a_tenant_that_edits_its_jobs_spends_no_budget_of_the_cluster(
    scene: Scene, greedy: Scene
) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    scene.apply(
        a_priority_class("urgent", 1000),
        a_policy(disruptionBudgets=[{"window": "1h", "maxJobs": 1}]),
    )
    victim = a_training_job("victim")
    scene.apply(victim)
    scene.running(victim)
    restless = a_training_job("restless", workers=1)
    greedy.apply(restless)
    for size in (2, 1, 3, 1):
        greedy.running(restless)
        greedy.edit(restless, {"workers": {"min": size, "max": size}})
        greedy.until(restless, workerCount=size)
    greedy.edit(restless, {"workers": {"min": 1, "max": 3}})
    greedy.until(restless, workerCount=3)
    greedy.running(restless)
    assert not greedy.status(restless).get("disruptionTimes")
    urgent = a_training_job("urgent", priorityClassName="urgent")
    scene.apply(urgent)
    scene.running(urgent)
    disturbed = [scene.status(victim), greedy.status(restless)]
    assert sum(len(status.get("disruptionTimes", ())) for status in disturbed) == 1


def test_one_tenants_failures_close_no_node_to_the_others(scene: Scene, greedy: Scene) -> None:
    names = ("accused", "faulty")
    scene.add_nodes(*(fake_node(name, H100, 4, labels={"is": name}) for name in names))
    scene.apply(a_policy(quarantine={"maxNodesPercent": 100}))
    mine = [restarting(name, node="accused") for name in ("one", "two")]
    also_mine, theirs = restarting("three", node="faulty"), restarting("theirs", node="faulty")
    greedy.apply(*mine, also_mine)
    scene.apply(theirs)
    for job in (*mine, *mine):
        fail_once(greedy, job)
    failures = [failure for job in mine for failure in greedy.status(job)["failures"]]
    assert [failure["node"] for failure in failures] == ["accused"] * 4
    fail_once(greedy, also_mine)
    fail_once(greedy, also_mine)
    fail_once(scene, theirs)
    wait_until(
        lambda: is_quarantined(scene, "faulty"),
        timeout_seconds=SECONDS,
        what="the node that two tenants report is in quarantine",
    )
    # Whoever judged that node has judged the other one, too, which had more failures.
    assert not is_quarantined(scene, "accused")


def restarting(name: str, *, node: str) -> Manifest:
    """A job that runs on this node only, and may fail often."""
    rules = {"maxRestarts": 9, "backoff": {"initial": "1s", "max": "1s"}}
    template = a_template(nodeSelector={"is": node})
    return a_training_job(name, template=template, faultTolerance=rules)


def fail_once(scene: Scene, job: Manifest) -> None:
    """Let the job's worker fail, and wait until that is reported."""
    failures = len(scene.status(job).get("failures", ()))
    [pod] = scene.running(job).pods
    fail(scene, pod)
    wait_until(
        lambda: len(scene.status(job).get("failures", ())) > failures,
        timeout_seconds=SECONDS,
        what=f"{job['metadata']['name']} reports its failure",
    )


def is_quarantined(scene: Scene, node: str) -> bool:
    taints = scene.api.get(f"{NODES}/{node}")["spec"].get("taints", [])
    return "plimsoll.dev/quarantine" in {taint["key"] for taint in taints}


def test_what_jobs_say_of_themselves_does_not_hold_against_a_guarantee_for_long(
    scene: Scene, greedy: Scene
) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    scene.apply(
        a_queue("owner", guaranteed=4),
        a_queue("borrower"),
        a_policy(guaranteeGrace="10s"),
    )
    labels = {"app": "precious"}
    wish = {"minRuntime": "99999h", "maxPerDay": 0}
    gang = a_training_job("gang", workers=2, queue="borrower", disruption=wish)
    service = an_inference_job(
        "service", replicas=2, queue="borrower", template=a_template(labels=labels)
    )
    guard = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": labels}},
    }
    greedy.apply(gang, service, guard)
    greedy.running(gang)
    greedy.running(service)
    greedy.until(guard, disruptionsAllowed=0, currentHealthy=2)
    owed = a_training_job("owed", workers=4, queue="owner")
    scene.apply(owed)
    said = scene.until(owed, reason="InsufficientGPUs")["message"]
    assert "jobs that must not be moved hold 4" in said
    scene.running(owed)
    for job in (gang, service):
        [event] = greedy.events(job, "InCohortReclamation")
        assert "queue owner has waited for its guarantee since" in event["note"]
