"""Write what follows for workloads that ask to be planned, each namespace's in its turn."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NoReturn, Protocol

from plimsoll.acting.adoption.changes import (
    Change,
    HoldPods,
    LetGo,
    Remark,
    Remove,
    Revise,
    StandFor,
)
from plimsoll.acting.writes.crowds import Crowd, Crowds, Later, One, after_a_window
from plimsoll.api.definition import GROUP, VERSION
from plimsoll.api.training_job import TrainingJob
from plimsoll.clock import Clock
from plimsoll.errors import AlreadyExists, Conflict, NotFound, PlimsollError, Refused
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import Deletion, KubeClient
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.queues.fair_queue import FairQueue
from plimsoll.observe.adoption.asking import is_concern
from plimsoll.observe.adoption.kinds.adapter import Candidate
from plimsoll.observe.adoption.kinds.table import adapter_of_kind
from plimsoll.observe.adoption.workload_view import Operation
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

AT_ONCE: Final = 8
"""Writers."""
OF_ONE: Final = 6
"""How many of them may work for one namespace."""
MANY: Final = 4 * AT_ONCE
"""With more changes than this under way, the loop has time."""
AGAIN_SECONDS: Final = 15.0
"""How long after a failed write the same one is tried again."""
STAND_INS: Final = Resource(GROUP, VERSION, TrainingJob.definition.plural)
_log = logs.logger(__name__)


class AdoptionListener(Protocol):
    """Receives what was written."""

    def wrote_workload(self, item: WorkloadObject) -> None:
        """An adopted workload was written."""
        ...

    def read_job(self, raw: dict[str, Any]) -> None:
        """The API server holds a job in this form."""
        ...


class AdoptionWriter:
    """Writes while several `run` run; what fails is decided anew after a while."""

    def __init__(
        self,
        client: KubeClient,
        events: EventRecorder,
        listener: AdoptionListener,
        clock: Clock,
        *,
        later: Later = after_a_window,
    ) -> None:
        self._client, self._events, self._listener = client, events, listener
        self._adopted = Crowds(events, Reason.ADOPTED, crowd_text, later)
        self._clock = clock
        self._queue: FairQueue[Change] = FairQueue(each=OF_ONE)
        self._under_way: set[str] = set()
        self._again_at: dict[str, float] = {}
        self._said: dict[str, Remark] = {}

    @property
    def is_busy(self) -> bool:
        """Whether more is to be written than is written at a time, several times over."""
        return len(self._under_way) > MANY

    def submit(self, changes: Iterable[Change]) -> None:
        """Queue changes, except for those of objects that are being written or have just failed."""
        now = self._clock.monotonic()
        self._again_at = {uid: at for uid, at in self._again_at.items() if at > now}
        for change in changes:
            uid = _uid(change)
            if uid not in self._under_way and uid not in self._again_at:
                self._under_way.add(uid)
                self._queue.put(_namespace(change), change)

    def say(self, remarks: Iterable[Remark]) -> None:
        """Tell users of workloads what is to be said, each once until something else is."""
        before, self._said = self._said, {}
        for remark in remarks:
            uid = remark.workload.item.metadata.uid
            self._said[uid] = remark
            known = before.get(uid)
            if known is None or known.said != remark.said:
                is_news = remark.said.reason is Reason.ADOPTED
                self._record(
                    remark.workload, remark.said.reason, remark.said.message, warning=not is_news
                )

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            namespace, change = await self._queue.get()
            try:
                await self._write(change)
            except PlimsollError as error:
                self._failed(change, error)
            except Exception as error:  # noqa: BLE001 - around one workload: the others are written
                count_unforeseen("adoption", error, workload=_uid(change))
                self._again_at[_uid(change)] = self._clock.monotonic() + AGAIN_SECONDS
            finally:
                self._under_way.discard(_uid(change))
                self._queue.done(namespace)

    def _failed(self, change: Change, error: PlimsollError) -> None:
        _log.info("workload not adopted", change=type(change).__name__, error=str(error))
        if isinstance(error, Conflict):
            return  # the watch brings what has changed, and with it another look
        self._again_at[_uid(change)] = self._clock.monotonic() + AGAIN_SECONDS
        if isinstance(error, Refused) and not isinstance(change, Remove):
            self._record(
                change.workload, Reason.INVALID_SPEC, _refusal(change, error), warning=True
            )

    async def _write(self, change: Change) -> None:
        match change:
            case HoldPods(workload):
                await self._patch(workload, held(workload, self._clock.now()))
            case LetGo(workload):
                for part in gated_parts(workload):
                    await self._patch(part, ungated(part))
                await self._patch(workload, let_go(workload))
                self._record(
                    workload, Reason.RELEASED, "no longer planned: it runs as Kubernetes has it"
                )
            case StandFor():
                await self._stand_for(change)
            case Revise(_, stand_in, patch):
                meta = stand_in.metadata
                body = {"metadata": {"uid": meta.uid}, "spec": patch}
                path = STAND_INS.named(meta.name, meta.namespace)
                self._listener.read_job(await self._client.merge_patch(path, body, dict[str, Any]))
            case Remove():
                await self._remove(change)

    async def _patch(self, workload: Candidate, operations: list[Operation]) -> None:
        meta, adapter = workload.item.metadata, workload.adapter
        path = adapter.resource.named(meta.name, meta.namespace)
        there = await self._client.json_patch(path, operations, adapter.type)
        self._listener.wrote_workload(there)

    async def _stand_for(self, change: StandFor) -> None:
        manifest = change.stand_in.manifest
        meta = manifest["metadata"]
        try:
            made = await self._client.create(
                STAND_INS.within(meta["namespace"]), manifest, dict[str, Any]
            )
        except AlreadyExists:
            path = STAND_INS.named(meta["name"], meta["namespace"])
            # A patch that changes nothing returns the object, and needs no right to read it.
            there = await self._client.merge_patch(path, {}, dict[str, Any])
            if there["spec"].get("workloadRef", {}).get("uid") != change.workload.item.metadata.uid:
                self._again_at[_uid(change)] = self._clock.monotonic() + AGAIN_SECONDS
                text = (
                    f"TrainingJob {meta['name']} exists and stands for something else: delete or"
                    f" rename it, or create the {change.workload.adapter.kind} under another name"
                )
                self._record(change.workload, Reason.INVALID_SPEC, text, warning=True)
            return
        self._listener.read_job(made)
        queue = change.stand_in.job.spec.queue
        text = f"planned in queue {queue} as TrainingJob {meta['name']}"
        saying = _saying(change.workload, Reason.ADOPTED, text)
        _log_saying(saying)
        self._adopted.say(Crowd(meta["namespace"], queue), One(meta["name"], (saying,)))

    async def _remove(self, change: Remove) -> None:
        meta, ref = change.stand_in.metadata, change.stand_in.spec.workload_ref
        adapter = adapter_of_kind(ref.api_version, ref.kind) if ref is not None else None
        if change.unless_asked and ref is not None and adapter is not None:
            # A watch may lag behind, and this cannot be undone. Kubernetes removes what belongs to
            # a deleted workload only if whoever deleted it did not choose to leave it.
            path = adapter.resource.named(ref.name, meta.namespace)
            try:
                item = await self._client.merge_patch(path, {}, adapter.type)
            except NotFound:
                item = None
            if item is not None and item.metadata.uid == ref.uid and is_concern(item):
                self._again_at[meta.uid] = self._clock.monotonic() + AGAIN_SECONDS
                return
        path = STAND_INS.named(meta.name, meta.namespace)
        try:
            await self._client.delete(path, KubeObject, Deletion(uid=meta.uid))
        except NotFound:
            return

    def _record(
        self, workload: Candidate, reason: Reason, message: str, *, warning: bool = False
    ) -> None:
        saying = _saying(workload, reason, message, warning=warning)
        _log_saying(saying)
        self._events.record(saying)


def crowd_text(count: int, queue: str, some: str) -> str:
    """What is said of many workloads for which TrainingJobs stand now, some of which are named."""
    return f"{count} workloads planned in queue {queue} as TrainingJobs: {some}"


def held(workload: Candidate, now: datetime) -> list[Operation]:
    """The JSON patch that has a workload's pods wait behind our gate, if it is as it was seen."""
    return [_same(workload), *workload.adapter.hold(workload, now)]


def gated_parts(workload: Candidate) -> Iterator[Candidate]:
    """What a workload has made that makes pods behind our gate, and would go on to do so.

    JobSet's controller adds to its Jobs the gates of their template, and takes none away. What is
    over makes no more pods, and cannot be changed.
    """
    for child in workload.children:
        yield from gated_parts(child)
        adapter, item = child.adapter, child.item
        if not child.children and adapter.is_held(item) and not adapter.is_over(item):
            yield child


def ungated(part: Candidate) -> list[Operation]:
    """The JSON patch that takes our gate from the pods of something that is suspended."""
    return [_same(part), *part.adapter.ungate(part)]


def let_go(workload: Candidate) -> list[Operation]:
    """The JSON patch that takes our gate from a workload's pods, and resumes it."""
    return [_same(workload), *workload.adapter.let_go(workload)]


def _saying(workload: Candidate, reason: Reason, message: str, *, warning: bool = False) -> Saying:
    """An event of a workload."""
    meta, adapter = workload.item.metadata, workload.adapter
    subject = Subject(adapter.api_version, adapter.kind, meta.name, meta.uid, meta.namespace)
    return Saying(subject, reason, message, warning)


def _log_saying(saying: Saying) -> None:
    of = saying.subject
    _log.info(saying.message, workload=f"{of.kind}/{of.namespace}/{of.name}", reason=saying.reason)


def _same(workload: Candidate) -> Operation:
    # The API server refuses another version as a conflict, and a failed "test" as invalid.
    version = workload.item.metadata.resource_version
    return {"op": "replace", "path": "/metadata/resourceVersion", "value": version}


def _uid(change: Change) -> str:
    if isinstance(change, Remove):
        return change.stand_in.metadata.uid
    return change.workload.item.metadata.uid


def _namespace(change: Change) -> str:
    of = change.stand_in if isinstance(change, Remove) else change.workload.item
    return of.metadata.namespace


def _refusal(change: Change, error: Refused) -> str:
    match change:
        case HoldPods(workload):
            return (
                f"its pod template cannot be changed: {error.message}; delete the"
                f" {workload.adapter.kind}, and create it suspended"
            )
        case LetGo(workload):
            return (
                f"its pod template cannot be changed: {error.message}; delete the"
                f" {workload.adapter.kind}, and create it without the label"
            )
        case _:
            return error.message
