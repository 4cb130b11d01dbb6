"""A small company's cluster, as commands show it: jobs that run and wait, and a node that is shut.

It has no Prometheus, so no load and no draw is measured.
"""

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_training_job,
    an_inference_job,
)

_POWER = {"idleWatts": 75, "typicalWatts": 560, "limitWatts": 700}
POOL = "company.example/pool"


def company(scene: Scene) -> None:
    """Two teams, two of whose jobs run and two wait."""
    scene.add_nodes(
        fake_node("h100-a", gpus=8, labels={POOL: "h100"}),
        fake_node("h100-b", gpus=8, labels={POOL: "h100"}),
        fake_node("l4-a", L4, gpus=4, labels={POOL: "l4"}),
    )
    scene.node("h100-b", {"spec": {"unschedulable": True}})
    scene.apply(
        a_policy(),
        a_pool("h100", {POOL: "h100"}, power=_POWER, pricePerGPUHour=3),
        a_pool("l4", {POOL: "l4"}),
        a_power_domain("row-1", {POOL: "h100"}, budget_watts=20_000),
        a_priority_class("urgent", 1000),
        a_queue("research", guaranteed=8, limit=12),
        a_queue("serving", gpu_type=L4, guaranteed=4, parent="research"),
    )
    bert = a_training_job("bert", gpus=6, queue="research", priorityClassName="urgent")
    chat = an_inference_job("chat", replicas=2, loads={L4: 10}, queue="serving")
    for job in (bert, chat):
        scene.apply(job)
        scene.running(job)
    llama = a_training_job("llama", workers=2, gpus=4, queue="research", rates={H100: 2})
    vision = a_training_job("vision", gpus=4, queue="research", priorityClassName="urgent")
    scene.apply(llama)
    scene.until(llama, reason="QueueLimit")
    scene.apply(vision)
    scene.until(vision, reason="InsufficientGPUs")
    wait_until(
        lambda: _is_published(scene), timeout_seconds=SECONDS, what="the statuses say so, too"
    )


def _is_published(scene: Scene) -> bool:
    """Whether queues, domains and the policy say what has become of all jobs."""
    queue = scene.api.get(scene.path("JobQueue", "research")).get("status", {})
    serving = scene.api.get(scene.path("JobQueue", "serving")).get("status", {})
    domain = scene.api.get(scene.path("PowerDomain", "row-1")).get("status", {})
    policy = scene.api.get(scene.path("PlacementPolicy", "default")).get("status", {})
    counts = queue.get("pending"), queue.get("admitted"), serving.get("admitted")
    held = policy.get("lastPlan", {}).get("held")
    return (counts, held, domain.get("expectedWatts")) == ((2, 2, 1), 2, 4110)
