"""The step of the only job of a small cluster, which stands for a workload, and its writes."""

from plimsoll.acting.jobs.gangs.training import training_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn, WorkloadWrites
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.planning.actions import Action
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen


def stepped(*manifests: Manifest, decided: Action | None = None) -> Step:
    """What becomes of the job in one turn, on two nodes of four GPUs."""
    snapshot = seen(fake_node("a", gpus=4), fake_node("b", gpus=4), *manifests)
    (view,) = snapshot.jobs
    assert view.training is not None
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    return training_step(view, view.training, Turn(snapshot, Occupancy(snapshot), decided=actions))


def writes(step: Step) -> WorkloadWrites:
    """What is written to the workload and its pods."""
    assert step.workload is not None
    return step.workload


def sent(step: Step) -> list[tuple[str, str, str]]:
    """The pods that are sent to their nodes: name, node and replica."""
    found = writes(step).placed
    return [(each.pod.name, each.node, each.labels["plimsoll.dev/replica"]) for each in found]


def status_of(step: Step) -> TrainingJobStatus:
    """The status that is written."""
    assert isinstance(step.status, TrainingJobStatus)
    return step.status
