"""Write one step: the status, gates and labels, deletions, pods, and events, in this order."""

from typing import Any, Protocol

from plimsoll.acting.patches import gate_patch, label_patch
from plimsoll.acting.step import GateChange, LabelChange, Step
from plimsoll.acting.writes.gated_pods import PodSender
from plimsoll.acting.writes.job_events import JobEvents
from plimsoll.acting.writes.pods import PodMaker, together
from plimsoll.acting.writes.status import StatusWriter
from plimsoll.acting.writes.targets import TargetWriter
from plimsoll.acting.writes.workloads import WorkloadWriter
from plimsoll.api.kinds import JobStatus
from plimsoll.clock import Clock
from plimsoll.errors import Conflict, NotFound
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import Deletion, KubeClient
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.snapshot import JobView, PodView


class StepListener(Protocol):
    """Receives what was read and written, before the watches report it."""

    def read_job(self, raw: dict[str, Any]) -> None:
        """A job was read from the API server."""
        ...

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """A job's status was written to the API server, in this version."""
        ...

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was written or read."""
        ...

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """The count of a target was set."""
        ...

    def doubted(self, reference: Reference) -> None:
        """A target may not have the count that it was thought to have."""
        ...

    def wrote_workload(self, item: WorkloadObject) -> None:
        """An adopted workload was written."""
        ...


class StepWriter:
    """Writes steps, of several jobs at a time."""

    def __init__(
        self,
        client: KubeClient,
        targets: KubeClient,
        events: EventRecorder,
        listener: StepListener,
        *,
        clock: Clock,
    ) -> None:
        self._client, self._events, self._listener = client, JobEvents(events), listener
        self._targets = TargetWriter(client, targets, listener, clock)
        self._statuses = StatusWriter(client, listener)
        self._workloads = WorkloadWriter(client, listener)
        self._sender = PodSender(client, listener.wrote_pod, clock)
        self.maker = PodMaker(client, listener.wrote_pod)

    async def write(self, step: Step) -> str:
        """Write everything; return why the pods were refused, "" if they were not.

        Raises PlimsollError if a write failed; what comes after it is not tried then.
        """
        await self.maker.make_sure(step.job)
        if not step.told_by_pod:
            await self._statuses.write(step)
        refusal = await self._targets.scale(step.target) if step.target else ""
        if step.workload and step.workload.changes_workload:
            refusal = await self._workloads.write(step.workload)
        turned = (self._turn_gate(change) for change in step.gates)
        labelled = (self._label(change) for change in step.labels)
        await together((*turned, *labelled, *(self._delete(pod) for pod in step.delete)))
        refusal = refusal or await self.maker.make_all(step)
        for writes in (step.target, step.workload):
            if writes is not None and not refusal:
                refusal = await self._sender.send(writes.placed)
        for event in step.events:
            self._events.say(step.job, event)
        return refusal

    async def _turn_gate(self, change: GateChange) -> None:
        """Set a pod's readiness gate, leaving all its other conditions alone.

        Raises Invalid if another pod has that name by now.
        """
        pod = change.pod
        path = PODS.named(pod.name, pod.namespace, "status")
        try:
            there = await self._client.apply(path, gate_patch(change), Pod)
        except NotFound:
            return
        self._listener.wrote_pod(there)

    async def _label(self, change: LabelChange) -> None:
        """Change a pod's labels. Raises Invalid if another pod has that name by now."""
        path = PODS.named(change.pod.name, change.pod.namespace)
        try:
            there = await self._client.merge_patch(path, label_patch(change), Pod)
        except NotFound:
            return
        self._listener.wrote_pod(there)

    async def _delete(self, pod: PodView) -> None:
        """Delete a pod; one that is already being deleted is removed by force."""
        how = Deletion(uid=pod.uid, grace_seconds=0 if pod.deleting else None)
        try:
            gone = await self._client.delete(PODS.named(pod.name, pod.namespace), Pod, how)
        except (NotFound, Conflict):
            return
        if gone is not None:
            self._listener.wrote_pod(gone)
