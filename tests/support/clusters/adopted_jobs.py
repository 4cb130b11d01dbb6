"""Manifests of what there is for a batch/v1 Job that is planned: its TrainingJob and its pods."""

import msgspec

from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.observe.adoption.stand_ins import stand_in_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE


def stand_in_for(job: Manifest, *, uid: str | None = None) -> Manifest:
    """The TrainingJob that stands for a Job, as the operator creates it."""
    meta = job["metadata"]
    identity = {"namespace": NAMESPACE, "uid": uid or f"uid-Job-{meta['name']}"}
    stored = {**job, "metadata": {**identity, **meta}}
    return stand_in_of(msgspec.convert(stored, BatchJob)).manifest


def placed_pods(job: Manifest, stand_in: Manifest) -> list[Manifest]:
    """The pods that a Job's own controller has made, each on its node."""
    name, uid = stand_in["metadata"]["name"], f"uid-TrainingJob-{stand_in['metadata']['name']}"
    owner = stand_in["metadata"]["ownerReferences"][0]
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{job['metadata']['name']}-{place['replica']}",
                "ownerReferences": [owner],
                "labels": {
                    "batch.kubernetes.io/job-completion-index": str(place["replica"]),
                    "plimsoll.dev/job-name": name,
                    "plimsoll.dev/job-kind": "TrainingJob",
                    "plimsoll.dev/job-uid": uid,
                    "plimsoll.dev/role": place["role"],
                    "plimsoll.dev/replica": str(place["replica"]),
                    "plimsoll.dev/rank": "0",
                    "plimsoll.dev/revision": str(place["revision"]),
                },
            },
            "spec": {
                "nodeName": place["nodes"][0],
                "containers": job["spec"]["template"]["spec"]["containers"],
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for place in stand_in["status"]["placement"]["assignments"]
    ]
