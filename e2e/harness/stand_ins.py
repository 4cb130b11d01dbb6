"""Jobs whose containers run `stand_in.py` instead of what they would run in earnest."""

import copy
from pathlib import Path

from plimsoll_devcluster.manifest import Manifest

PROGRAM = Path(__file__).with_name("stand_in.py").read_text()
SMALL = {"cpu": "10m", "memory": "24Mi"}


def template(image: str, **pod: object) -> Manifest:
    """A pod template of one container that is ready as soon as it serves."""
    probe = {"httpGet": {"path": "/", "port": 8000}, "periodSeconds": 1}
    container = _container({"name": "main", "readinessProbe": probe}, image)
    return {"spec": {"containers": [container], **pod}}


def with_stand_ins(job: Manifest, image: str) -> Manifest:
    """The job with every program replaced, and what it asks for besides GPUs made small."""
    job = copy.deepcopy(job)
    spec = job["spec"]
    workers = [spec["workers"]] if job["kind"] == "TrainingJob" else []
    for part in (*workers, *spec.get("roles", ())):
        pod = part["template"]["spec"]
        pod["containers"] = [_container(each, image) for each in pod["containers"]]
    return job


def _container(container: Manifest, image: str) -> Manifest:
    kept = {key: value for key, value in container.items() if key != "args"}
    return {
        **kept,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", PROGRAM],
        "resources": {"requests": dict(SMALL)},
    }
