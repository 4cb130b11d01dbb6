"""Clusters of one node with jobs on it, and snapshot files of them, for the command line."""

import json
from pathlib import Path
from typing import Any

from plimsoll_devcluster.fake_nodes import fake_node
from support.objects.manifests import H100, Manifest, edited, training_job

NODE = fake_node("node-1")
URGENT: Manifest = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}
STARTED = "2026-11-21T11:00:00Z"
TAKEN = "2026-11-21T12:00:00Z"


def a_job(name: str, gpus: int, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A job of one worker in the queue `default`."""
    edits = {"metadata.name": name, "spec.workers.min": 1, "spec.workers.gpusPerWorker": gpus}
    job = edited(training_job(), {**edits, "spec.workers.max": 1})
    return {**job, "spec": {**job["spec"], **spec}}


def a_running_job(name: str, gpus: int, **spec: Any) -> Manifest:  # noqa: ANN401 - same
    """The same as an API server holds it while it runs on node-1, since an hour."""
    job = a_job(name, gpus, **spec)
    assignment = {"role": "worker", "replica": 0, "nodes": ["node-1"], "pool": "", "revision": 1}
    placement = {"revision": 1, "acceleratorType": H100, "pool": "", "workers": 1}
    job["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": "2026-11-20T12:00:00Z"}
    places = {"assignments": [{**assignment, "acceleratorType": H100}]}
    return {**job, "status": {"startedTime": STARTED, "placement": {**placement, **places}}}


def a_crowded_node() -> list[Manifest]:
    """A job of six GPUs that is done in an hour, and one that waits for four, of eight in all."""
    return [
        NODE,
        URGENT,
        a_running_job(
            "runs",
            6,
            priorityClassName="urgent",
            work={"amount": 7200},
            accelerators=[{"type": H100, "throughput": [{"workers": 1, "rate": 1}]}],
        ),
        a_job("waits", 4),
    ]


def a_snapshot(tmp_path: Path, *manifests: Manifest) -> str:
    """A file of these, with a head as the operator writes it, though of another plan."""
    head: Manifest = {
        "snapshotVersion": 1,
        "taken": TAKEN,
        "programVersion": "0.1.0",
        "effort": {"deterministicSeconds": 0.2, "workers": 1},
        "plan": {"outcome": "Optimal", "gapPercent": 0, "placements": {}},
    }
    file = tmp_path / "snapshot.json"
    content: Manifest = {"apiVersion": "v1", "kind": "List", "plimsoll": head, "items": manifests}
    file.write_text(json.dumps(content))
    return str(file)
