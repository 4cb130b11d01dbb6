"""The gangs and jobs as Plimsoll gets them."""

from plimsoll_bench.beside.course import GANG
from plimsoll_bench.beside.gangs import Gang
from plimsoll_devcluster.fake_nodes import RACK
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest


def training_job(gang: Gang, *, known: bool) -> Manifest:
    """A gang that would rather be within a rack; how long it works is known or not."""
    job: Manifest = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": gang.name},
        "spec": {
            "workers": {
                "min": gang.workers,
                "gpusPerWorker": gang.gpus_per_worker,
                "template": {
                    "metadata": {"labels": {GANG: gang.name}},
                    "spec": {"containers": [_CONTAINER]},
                },
            },
            "accelerators": [
                {"type": H100, "throughput": [{"workers": gang.workers, "rate": gang.workers}]}
            ],
        },
    }
    if gang.workers > 1:
        job["spec"]["topology"] = {"preferred": RACK}
    if known:
        job["spec"]["work"] = {"amount": str(round(gang.workers * gang.seconds, 1))}
    return job


_CONTAINER = {"name": "main", "image": "train", "resources": {"requests": {"cpu": "1"}}}
