"""The gangs: as plain pods, each of which asks for a node, and as TrainingJobs."""

from dataclasses import dataclass
from random import Random

from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.objects.job_manifests import a_template, a_training_job

GANG = "example.com/gang"
GPUS = 8
SIZES = range(1, 9)
_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"


@dataclass(frozen=True, slots=True)
class Gang:
    """Workers of a node each, which get nothing done until all of them run."""

    name: str
    workers: int


def drawn_gangs(count: int, seed: int) -> list[Gang]:
    """Gangs of all sizes, equally often as far as that goes, in random order."""
    sizes = [SIZES[number % len(SIZES)] for number in range(count)]
    Random(seed).shuffle(sizes)
    return [Gang(f"gang-{number:02}", workers) for number, workers in enumerate(sizes)]


def plain_pods(gang: Gang, attempt: int) -> list[Manifest]:
    """A pod for each worker, which Karpenter may not evict."""
    resources = {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": GPUS}}
    container = {"name": "main", "image": "train", "resources": resources}
    return [
        {
            "metadata": {
                "name": f"{gang.name}-{attempt}-{rank}",
                "labels": {GANG: gang.name},
                "annotations": {_DO_NOT_DISRUPT: "true"},
            },
            "spec": {"containers": [container], "restartPolicy": "Never"},
        }
        for rank in range(gang.workers)
    ]


def training_job(gang: Gang) -> Manifest:
    """The gang as Plimsoll gets it: as fast on either GPU type, on demand or spot."""
    return a_training_job(
        gang.name,
        workers=gang.workers,
        gpus=GPUS,
        rates={A100: gang.workers, H100: gang.workers},
        template=a_template({"cpu": "1"}, labels={GANG: gang.name}),
        spot={"allowed": True},
    )
