"""The known custom resources, parsed once when they change and kept as models.

They arrive from several sides: watches, responses to our own writes, and an occasional full list.
The newest version wins, however it arrived. A version that cannot be read affects no other object:
it is kept as a refusal, next to the last version that could be read.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from pydantic import ValidationError

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import KIND_BY_NAME, Job, JobStatus
from plimsoll.api.model import ApiModel, status_wire_of
from plimsoll.api.refusal_text import why_refused
from plimsoll.api.resource import ObjectMeta, Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.refused import RefusedObject, refused_object
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)
Raw = Mapping[str, Any]


class CustomResources:
    """The custom resources by uid. `changed` is called after each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._models: dict[str, Resource] = {}
        self._assumed: dict[str, JobStatus] = {}
        self._merged: dict[str, tuple[Resource, JobStatus, Resource]] = {}
        self._refused: dict[str, RefusedObject] = {}
        self._gone: dict[str, str] = {}
        self._specs: WeakValueDictionary[tuple[str, bytes], ApiModel] = WeakValueDictionary()
        """The specs of jobs, by what they are written as: users submit many alike."""

    def all(self) -> list[Resource]:
        """All resources, with assumed statuses applied."""
        assumed = self._assumed
        return [
            self._with_assumed(model) if uid in assumed else model
            for uid, model in self._models.items()
        ]

    def refused(self) -> tuple[RefusedObject, ...]:
        """The resources whose newest version cannot be read."""
        return tuple(self._refused.values())

    def get(self, uid: str) -> Resource | None:
        """The resource as the API server has it."""
        return self._models.get(uid)

    def _with_assumed(self, model: Resource) -> Resource:
        """The same object while both parts are the same, so that results can be memoised."""
        uid = model.metadata.uid
        status, known = self._assumed[uid], self._merged.get(uid)
        if known is None or known[0] is not model or known[1] is not status:
            merged = model.model_copy(update={"status": status})
            known = self._merged[uid] = (model, status, merged)
        return known[2]

    def received(self, raw: Raw) -> None:
        """Take an object in, unless a newer version or its deletion is known."""
        meta = raw["metadata"]
        uid, version = meta["uid"], meta["resourceVersion"]
        if uid in self._gone:
            return
        if self._newest(uid) >= int(version):
            return
        try:
            self._models[uid] = self._read_update(raw) or self._read(raw)
        except ValidationError as error:
            self._refuse(raw, why_refused(error))
        except Exception as error:  # noqa: BLE001 - around one object: it is refused, others are read
            self._refuse(raw, f"it cannot be read ({type(error).__name__}): make it simpler")
        else:
            self._refused.pop(uid, None)
        self._changed()

    def _read(self, raw: Raw) -> Resource:
        """An object; one with the same spec as another has that one's, which is not read again."""
        kind = KIND_BY_NAME[raw["kind"]]
        if kind not in (TrainingJob, InferenceJob) or "spec" not in raw:
            return kind.model_validate(raw)
        key = kind.__name__, blake2b(msgspec.json.encode(raw["spec"]), digest_size=16).digest()
        known = self._specs.get(key)
        if known is not None:
            return kind.model_validate({**raw, "spec": known})
        found = kind.model_validate(raw)
        self._specs[key] = found.spec
        return found

    def _read_update(self, raw: Raw) -> Resource | None:
        """A job of which only the status is new: what is known already is not read again.

        None if that is not certain.
        """
        meta = raw["metadata"]
        uid, generation = meta["uid"], meta.get("generation")
        known = self._models.get(uid)
        if not isinstance(known, TrainingJob | InferenceJob) or uid in self._refused:
            return None
        # The API server gives each spec another generation.
        if not generation or known.metadata.generation != generation:
            return None
        try:
            status = self._read_status(raw.get("status", {}), known)
            metadata = ObjectMeta.model_validate(meta)
        except ValidationError:
            return None
        return known.model_copy(update={"metadata": metadata, "status": status})

    def _read_status(self, raw: Raw, known: Job) -> JobStatus:
        """A job's status; the one that was to be written, if it is that."""
        assumed = self._assumed.get(known.metadata.uid)
        if assumed is not None and raw == status_wire_of(assumed):
            return assumed
        return type(known.status).model_validate(raw)

    def _newest(self, uid: str) -> int:
        """The newest version of an object seen so far; 0 if there is none."""
        model, refused = self._models.get(uid), self._refused.get(uid)
        versions = (model and model.metadata.resource_version, refused and refused.version)
        return max(int(version or 0) for version in versions)

    def _refuse(self, raw: Raw, why: str) -> None:
        """Record a version that cannot be read.

        The last readable version stays in use, but writes refer to the current version.
        """
        refused = refused_object(raw, why)
        before = self._refused.get(refused.uid)
        if before is None or before.why != why:
            metrics.FAULTS.labels(refused.kind, "Read").inc()
            name = str(refused)
            _log.warning("object refused", object=name, reason=Reason.INVALID_SPEC, error=why)
        self._refused[refused.uid] = refused
        known = self._models.get(refused.uid)
        if known is not None:
            metadata = known.metadata.model_copy(update=_present(raw["metadata"]))
            self._models[refused.uid] = known.model_copy(update={"metadata": metadata})

    def gone(self, raw: Raw) -> None:
        """Forget a deleted object for good: a list already under way may still contain it."""
        uid = raw["metadata"]["uid"]
        self._gone[uid] = raw["kind"]
        self._drop(uid)

    def listed(self, kind: str, uids: Iterable[str], version: int) -> None:
        """Forget the objects of a kind that a full list of that version does not contain."""
        there = set(uids)
        for uid, model in list(self._models.items()):
            older = int(model.metadata.resource_version) <= version
            if older and type(model).definition.kind == kind and uid not in there:
                self._drop(uid)
        for uid, refused in list(self._refused.items()):
            if int(refused.version) <= version and refused.kind == kind and uid not in there:
                self._drop(uid)
        late = {uid: of for uid, of in self._gone.items() if of != kind or uid in there}
        self._gone = late

    def _drop(self, uid: str) -> None:
        self.forget(uid)
        refused = self._refused.pop(uid, None)
        if self._models.pop(uid, None) is not None or refused is not None:
            self._changed()

    def assume(self, uid: str, status: JobStatus) -> None:
        """Treat a job's status as written until it is, or until `forget` reports a failed write."""
        self._assumed[uid] = status

    def forget(self, uid: str) -> None:
        """Go back to what the API server has."""
        self._assumed.pop(uid, None)
        self._merged.pop(uid, None)

    def wrote(self, job: Job, status: JobStatus, version: str) -> None:
        """Record that a status was written, with its new version."""
        uid = job.metadata.uid
        known = self._models.get(uid)
        if known is None or int(known.metadata.resource_version) >= int(version):
            return
        # Not the job's own spec, which here includes what was filled in from its target.
        metadata = known.metadata.model_copy(update={"resource_version": version})
        self._models[uid] = known.model_copy(update={"metadata": metadata, "status": status})


def _present(meta: Raw) -> dict[str, Any]:
    """The metadata that matters even while the spec cannot be read."""
    deleted = meta.get("deletionTimestamp")
    when = {"deletion_timestamp": datetime.fromisoformat(deleted)} if deleted else {}
    return {"resource_version": meta["resourceVersion"], **when}
