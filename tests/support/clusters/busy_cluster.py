"""A cluster of a hundred nodes with something to see in each view of the console."""

from typing import Final

from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, RACK, fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4, T4
from plimsoll_devcluster.manifest import Manifest
from support.clusters.scene import Scene
from support.objects.job_manifests import (
    a_pool,
    a_power_domain,
    a_queue,
    a_training_job,
    an_inference_job,
)

NODES: Final = 100
RACKS: Final = ("rack-a", "rack-b", "rack-c", "rack-d", "rack-e")
_KINDS: Final = ((H100, 8), (A100, 8), (L4, 4), (T4, 1))
_POWER: Final = {"idleWatts": 75, "typicalWatts": 560, "limitWatts": 700}
_LEVELS: Final = [{"name": "rack", "label": RACK}]

PRETRAIN: Final = a_training_job(
    "pretrain",
    workers=(2, 4),
    gpus=8,
    rates={H100: {2: 20, 4: 36}},
    queue="research",
    work={"amount": "100000", "unit": "steps"},
)
FINETUNE: Final = a_training_job("finetune", workers=2, gpus=4, rates={A100: 7}, queue="research")
CHAT: Final = an_inference_job("chat", replicas=3, loads={L4: 10})
TOO_LARGE: Final = a_training_job(
    "too-large", workers=40, gpus=8, rates={H100: {4: 30, 40: 200}}, queue="research"
)
JOBS: Final = (PRETRAIN, FINETUNE, CHAT)


def nodes() -> list[Manifest]:
    """A hundred nodes of four kinds in five racks."""
    return [
        fake_node(
            f"{kind.split('-')[1].lower()}-{number:03}",
            kind,
            gpus,
            labels={RACK: RACKS[number * len(RACKS) // NODES], CAPACITY_TYPE: "on-demand"},
        )
        for number in range(NODES)
        for kind, gpus in (_KINDS[number % len(_KINDS)],)
    ]


def fill(scene: Scene) -> None:
    """Make the cluster, and wait until all of its jobs run but the one that is too large."""
    scene.add_nodes(*nodes())
    # H100s alone have a known price and draw.
    pool = {"topologyKeys": _LEVELS, "pricePerGPUHour": "3.90", "power": _POWER}
    scene.apply(
        a_pool("h100", {"nvidia.com/gpu.product": H100}, **pool),
        a_pool("others", {"type": "kwok"}, topologyKeys=_LEVELS),
        a_power_domain("row-a", {RACK: "rack-a"}, budget_watts=18_000),
        a_queue("research", guaranteed=16),
        a_queue("default"),
        *JOBS,
        TOO_LARGE,
    )
    for job in JOBS:
        scene.running(job)
    scene.until(TOO_LARGE, reason="CannotFit")
