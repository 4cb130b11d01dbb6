"""Training jobs of a team on the twin, and the cluster that they need."""

from collections.abc import Callable
from typing import Any

from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.programs.training import Gang, Pace, Run
from plimsoll_simulator.twin import Twin
from support.objects.job_manifests import a_training_job

NAMESPACE = "team"
HOUR = 3600.0
CHECKPOINT: Raw = {"interval": "10m", "saveSeconds": 30, "restoreSeconds": 60}


def begin(twin: Twin, *nodes: Raw) -> None:
    """The team, its queue, and nodes."""
    twin.apply({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
    twin.apply({"kind": "JobQueue", "metadata": {"name": "default"}, "spec": {}})
    for node in nodes:
        twin.apply(node)


def submit(
    twin: Twin,
    name: str,
    *,
    gpus: int,
    hours: float,
    pace: Callable[[Gang, float], Pace] = lambda gang, _: Pace(gang.gpus),
    **spec: Any,  # noqa: ANN401 - fields of a job's spec
) -> Run:
    """A gang of workers with a GPU each, and so many hours of work on an H100 each."""
    work = {"amount": int(gpus * hours * HOUR), "unit": "steps"}
    rates = {H100: gpus, A100: gpus}
    fields: dict[str, Any] = {"checkpoint": CHECKPOINT, "queue": "default", **spec}
    job = a_training_job(name, workers=gpus, rates=rates, work=work, **fields)
    job["metadata"]["namespace"] = NAMESPACE
    return twin.training.runs[twin.apply(job, pace)["metadata"]["uid"]]
