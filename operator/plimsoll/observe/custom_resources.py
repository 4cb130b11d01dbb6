"""What is known of the custom resources: read once when they change, kept as models.

They come from several sides: kopf's events, answers to our own writes, and a full list now and
then for what the events left out. The newest version wins, whichever way it came.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from plimsoll import telemetry
from plimsoll.api.kinds import KIND_BY_NAME, Job, JobStatus
from plimsoll.api.resource import Resource
from plimsoll.telemetry import Reason

_log = telemetry.logger(__name__)
Raw = Mapping[str, Any]


class CustomResources:
    """The custom resources by uid. `changed` is called after each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._models: dict[str, Resource] = {}
        self._assumed: dict[str, JobStatus] = {}
        self._merged: dict[str, tuple[Resource, JobStatus, Resource]] = {}
        self._unreadable: dict[str, str] = {}
        self._gone: dict[str, str] = {}

    def all(self) -> list[Resource]:
        """All resources, with the statuses that are as good as written."""
        return [self._with_assumed(model) for model in self._models.values()]

    def get(self, uid: str) -> Resource | None:
        """The resource as the API server has it."""
        return self._models.get(uid)

    def _with_assumed(self, model: Resource) -> Resource:
        """The same object as long as both parts are the same, so that it can be remembered."""
        uid = model.metadata.uid
        status = self._assumed.get(uid)
        if status is None:
            return model
        known = self._merged.get(uid)
        if known is None or known[0] is not model or known[1] is not status:
            merged = model.model_copy(update={"status": status})
            known = self._merged[uid] = (model, status, merged)
        return known[2]

    def told(self, raw: Raw) -> None:
        """Take an object in, unless a newer version of it is known, or that it is gone."""
        meta = raw["metadata"]
        uid, version = meta["uid"], meta["resourceVersion"]
        if uid in self._gone:
            return
        known = self._models.get(uid)
        if known is not None and int(known.metadata.resource_version) >= int(version):
            return
        if self._unreadable.get(uid) == version:
            return
        try:
            self._models[uid] = KIND_BY_NAME[raw["kind"]].model_validate(raw)
        except ValidationError as error:
            self._unreadable[uid] = version
            _log.warning(
                "object not understood, left as it is",
                object=f"{raw['kind']}/{meta.get('namespace', '')}/{meta['name']}",
                reason=Reason.INVALID_SPEC,
                error=str(error),
            )
            return
        self._changed()

    def gone(self, raw: Raw) -> None:
        """Forget an object that was deleted, for good: a list may still be on its way with it."""
        uid = raw["metadata"]["uid"]
        self._gone[uid] = raw["kind"]
        self._drop(uid)

    def listed(self, kind: str, uids: Iterable[str], version: int) -> None:
        """Forget the objects of a kind that a full list of that version does not hold."""
        there = set(uids)
        for uid, model in list(self._models.items()):
            older = int(model.metadata.resource_version) <= version
            if older and type(model).definition.kind == kind and uid not in there:
                self._drop(uid)
        late = {uid: of for uid, of in self._gone.items() if of != kind or uid in there}
        self._gone = late

    def _drop(self, uid: str) -> None:
        self.forget(uid)
        self._unreadable.pop(uid, None)
        if self._models.pop(uid, None) is not None:
            self._changed()

    def assume(self, uid: str, status: JobStatus) -> None:
        """Count a job's status as written until it is, or `forget` says that it was not."""
        self._assumed[uid] = status

    def forget(self, uid: str) -> None:
        """Go back to what the API server has."""
        self._assumed.pop(uid, None)
        self._merged.pop(uid, None)

    def wrote(self, job: Job, status: JobStatus, version: str) -> None:
        """A status is written: it is in this version."""
        uid = job.metadata.uid
        known = self._models.get(uid)
        if known is None or int(known.metadata.resource_version) >= int(version):
            return
        # Not the job's own spec: what plans see of a target stands there, too.
        metadata = known.metadata.model_copy(update={"resource_version": version})
        self._models[uid] = known.model_copy(update={"metadata": metadata, "status": status})
