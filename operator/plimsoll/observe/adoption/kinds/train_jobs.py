"""TrainJobs of Kubeflow Trainer, which makes a JobSet of each, as its runtime says."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.times import rfc3339
from plimsoll.kube.objects.workload_parts import condition_of
from plimsoll.kube.objects.workloads.job_set import JobSet
from plimsoll.kube.objects.workloads.train_job import TrainJob
from plimsoll.observe.adoption.kinds.adapter import (
    Adapter,
    Candidate,
    PodSet,
    asks_for_gpus,
)
from plimsoll.observe.adoption.workload_view import Operation, WorkloadView, outcome_of
from plimsoll.observe.labels import GATE

MANAGER: Final = GATE
"""The name under which we patch a TrainJob's runtime."""
_PATCHES: Final = "/spec/runtimePatches"
_DONE: Final = "Complete"


class TrainJobs(Adapter[TrainJob]):
    """TrainJobs; what their pods are, their JobSet says."""

    kind = "TrainJob"
    resource = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs")
    type = TrainJob
    own_managers = frozenset({"trainer.kubeflow.org/trainjob-controller"})
    makes = frozenset({("jobset.x-k8s.io/v1alpha2", "JobSet")})

    def pod_sets(self, item: TrainJob, children: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The pods of its JobSet."""
        found = (pods for child in children for pods in child.pod_sets)
        return tuple(replace(pods, field=f"{item.metadata.name}'s {pods.field}") for pods in found)

    def view(self, item: TrainJob, children: Sequence[Candidate], /) -> WorkloadView:
        """How a TrainJob stands, and its JobSet."""
        suspended, conditions = item.spec.suspend, item.status.conditions
        rests = suspended and condition_of(conditions, "Suspended") is not None
        own = WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=suspended,
            at_rest=False,
            parallelism=0,
            due=0,
            outcome=outcome_of(item.status.conditions, done=_DONE),
        )
        for child in children:
            seen = child.view
            return replace(
                own,
                at_rest=rests and seen.at_rest,
                parallelism=seen.parallelism,
                due=seen.due,
                beside=seen.beside,
                since=None if suspended else seen.since,
                failures=seen.failures,
            )
        return own

    def managed_by(self, item: TrainJob) -> str:
        """Who runs it, if somebody else does."""
        return item.spec.managed_by

    def is_suspended(self, item: TrainJob) -> bool:
        """Whether it is to run no pods."""
        return item.spec.suspend

    def is_over(self, item: TrainJob) -> bool:
        """Whether it has completed or failed for good."""
        return outcome_of(item.status.conditions, done=_DONE) is not None

    def is_held(self, item: TrainJob) -> bool:
        """Whether we have patched its runtime."""
        return any(each.manager == MANAGER for each in item.spec.runtime_patches)

    def are_held(self, candidate: Candidate) -> bool:
        """The same: the patch is of all its pods with GPUs."""
        return isinstance(candidate.item, TrainJob) and self.is_held(candidate.item)

    def is_complete(self, candidate: Candidate) -> bool:
        """Whether its JobSet is there."""
        return bool(candidate.children)

    def hold(self, candidate: Candidate, now: datetime, /) -> list[Operation]:
        """The JSON patch that has our scheduling gate put on its pods with GPUs."""
        item = candidate.item
        # Without a time Trainer's webhook sets it, and rewrites all of the TrainJob as it does so:
        # GPUs given as a number become text, and spec.trainer may not change.
        patch = {"manager": MANAGER, "time": rfc3339(now), "trainingRuntimeSpec": _gated(candidate)}
        if isinstance(item, TrainJob) and item.spec.runtime_patches:
            return [{"op": "add", "path": f"{_PATCHES}/-", "value": patch}]
        return [{"op": "add", "path": _PATCHES, "value": [patch]}]

    def ungate(self, candidate: Candidate) -> list[Operation]:
        """The JSON patch that takes it away."""
        item = candidate.item
        if not isinstance(item, TrainJob):
            return []
        managers = [each.manager for each in item.spec.runtime_patches]
        places = [index for index, name in enumerate(managers) if name == MANAGER]
        return [{"op": "remove", "path": f"{_PATCHES}/{n}"} for n in reversed(places)]


def _gated(candidate: Candidate) -> Operation:
    """The part of the runtime that we change: the gates of those Jobs that ask for GPUs."""
    sets = (child.item for child in candidate.children if isinstance(child.item, JobSet))
    gates = {"spec": {"template": {"spec": {"schedulingGates": [{"name": GATE}]}}}}
    jobs = [
        {"name": each.name, "template": gates}
        for item in sets
        for each in item.spec.replicated_jobs
        if asks_for_gpus(each.template.spec.template.spec)
    ]
    return {"template": {"spec": {"replicatedJobs": jobs}}}
