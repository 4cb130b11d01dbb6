"""The pods of rivals: each has one GPU, and the node and environment that a rival chose for it."""

from collections.abc import Mapping

from plimsoll.api.definition import API_VERSION
from plimsoll.api.kinds import Job
from plimsoll.observe.labels import JOB_KIND, JOB_UID
from plimsoll_bench.day.scene import BATCH, GPUS, recorded
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.programs.training import Run

GRACE_SECONDS = 30


def asked_gpus(run: Run) -> int:
    """How many GPUs a job's owner asked for."""
    return _asked(run, GPUS)


def environment(run: Run, gpu_type: str) -> Mapping[str, int]:
    """What the workers of a gang of the size that was asked for are told, on a GPU type."""
    gpus = asked_gpus(run)
    batch = recorded(run).local_batch(gpu_type, _asked(run, BATCH), gpus)
    return {
        "WORLD_SIZE": gpus,
        "PLIMSOLL_LOCAL_BATCH": batch.samples,
        "PLIMSOLL_ACCUMULATION": batch.passes,
    }


def _asked(run: Run, annotation: str) -> int:
    return int(run.job.metadata.annotations[annotation])


def pod_on(
    job: Job, name: str, node: str, labels: Mapping[str, str], environment: Mapping[str, int]
) -> Raw:
    """A pod of a job, with one GPU of a node."""
    gpu = {"nvidia.com/gpu": "1"}
    fields = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [fields]}]}
    owner = {"apiVersion": API_VERSION, "kind": job.kind}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": job.metadata.namespace,
            "labels": {JOB_UID: job.metadata.uid, JOB_KIND: job.kind, **labels},
            "ownerReferences": [{**owner, "name": job.metadata.name, "uid": job.metadata.uid}],
        },
        "spec": {
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            },
            "containers": [
                {
                    "name": "main",
                    "image": "recorded:1",
                    "env": [{"name": n, "value": str(v)} for n, v in environment.items()],
                    "resources": {"requests": gpu, "limits": gpu},
                }
            ],
        },
    }
