"""An API server in memory: it stores, patches, refuses and deletes as a real one, and nothing more.

Schedulers, kubelets and garbage collectors are elsewhere; they and users write through the same
methods as the operator's requests do.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import msgspec

from plimsoll.api.definition import GROUP
from plimsoll.clock import Clock
from plimsoll.errors import AlreadyExists, Conflict, Invalid, NotFound
from plimsoll.kube.http.transport import Request
from plimsoll.kube.objects.times import rfc3339
from plimsoll_simulator.cluster.patches import Raw, applied, merged, operated

LATENCY_SECONDS = 0.005
"""How long a request takes."""
_VERSION = "resourceVersion"
_SEGMENTS_OF_A_NAMESPACE = 4
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Key:
    """What an object is stored under."""

    plural: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Change:
    """An object before and after: None if it was not, or is no longer, there."""

    key: Key
    before: Raw | None
    after: Raw | None


Listener = Callable[[Change], None]


class ApiServer:
    """The objects, by plural, namespace and name. Every listener hears of each change in order."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects: dict[str, dict[tuple[str, str], Raw]] = {}
        self._versions = itertools.count(1)
        self._uids = itertools.count(1)
        self._listeners: list[Listener] = []
        self._unreported: deque[Change] = deque()
        self._is_reporting = False
        self.requests = 0
        """How many the operator has sent."""

    def listen(self, listener: Listener) -> None:
        """Have every change reported to a listener from now on."""
        self._listeners.append(listener)

    def all(self, plural: str) -> Iterable[Raw]:
        """All objects of a kind."""
        return self._objects.get(plural, {}).values()

    def find(self, key: Key) -> Raw | None:
        """An object; None if there is none."""
        return self._objects.get(key.plural, {}).get((key.namespace, key.name))

    def read(self, key: Key) -> Raw:
        """An object; raises NotFound."""
        found = self.find(key)
        if found is None:
            raise NotFound(f"{key.plural} {key.name!r} not found", status=404, reason="NotFound")
        return found

    def create(self, plural: str, manifest: Mapping[str, Any]) -> Raw:
        """Store a new object; raises AlreadyExists."""
        given = manifest["metadata"]
        key = Key(plural, given.get("namespace", ""), given["name"])
        if self.find(key) is not None:
            text = f"{plural} {key.name!r} already exists"
            raise AlreadyExists(text, status=409, reason="AlreadyExists")
        metadata = {
            **given,
            "uid": f"{plural}-{next(self._uids)}",
            "generation": 1,
            "creationTimestamp": timestamp(self._clock),
        }
        made = {**manifest, "metadata": metadata}
        return self._store(key, None, _as_pod(made) if plural == "pods" else made)

    def update(self, key: Key, change: Callable[[Raw], Raw], *, only: str | None = None) -> Raw:
        """Store what `change` makes of an object: all but its status, or `only` that.

        Raises NotFound, Conflict if the result names another version, Invalid if another uid.
        """
        old = self.read(key)
        new = change(old)
        named, there = new["metadata"], old["metadata"]
        if named.get(_VERSION) not in (None, there[_VERSION]):
            raise Conflict(f"{key.name} has changed", status=409, reason="Conflict")
        if named.get("uid") not in (None, there["uid"]):
            raise Invalid(f"{key.name}: metadata.uid: field is immutable", status=422)
        new = {**old, **_parts(new, only)}
        if new == old:
            return old
        return self._store(key, old, new)

    def delete(self, key: Key, options: Mapping[str, Any] | None = None) -> Raw:
        """Delete an object; one with finalizers, or a pod on a node, is only marked.

        Whoever ends it removes it.
        """
        old, options = self.read(key), options or {}
        must_be: Mapping[str, str] = options.get("preconditions") or {}
        for field, wanted in must_be.items():
            if old["metadata"][field] != wanted:
                raise Conflict(f"{key.name} has another {field}", status=409, reason="Conflict")
        if key.plural != "pods":
            return self._finalized(key, old)
        spec = old["spec"]
        grace = options.get("gracePeriodSeconds", spec["terminationGracePeriodSeconds"])
        if not spec.get("nodeName") or grace == 0:
            return self._marked(self.remove(key), 0)
        if "deletionTimestamp" in old["metadata"]:
            return old
        return self._store(key, old, self._marked(old, grace))

    def remove(self, key: Key) -> Raw:
        """Forget an object at once; return its last version. Raises NotFound."""
        old = self.read(key)
        del self._objects[key.plural][key.namespace, key.name]
        next(self._versions)
        self._report(Change(key, old, None))
        return old

    def _finalized(self, key: Key, old: Raw) -> Raw:
        if not old["metadata"].get("finalizers"):
            return self.remove(key)
        if "deletionTimestamp" in old["metadata"]:
            return old
        return self._store(key, old, self._marked(old, 0))

    def _marked(self, old: Raw, grace_seconds: int) -> Raw:
        """An object that is to end within that time."""
        marks = {
            "deletionTimestamp": timestamp(self._clock, grace_seconds),
            "deletionGracePeriodSeconds": grace_seconds,
        }
        return {**old, "metadata": {**old["metadata"], **marks}}

    def _store(self, key: Key, old: Raw | None, new: Raw) -> Raw:
        metadata = {**new["metadata"], _VERSION: str(next(self._versions))}
        if old is not None and old.get("spec") != new.get("spec"):
            metadata["generation"] = old["metadata"]["generation"] + 1
        new = {**new, "metadata": metadata}
        self._objects.setdefault(key.plural, {})[key.namespace, key.name] = new
        self._report(Change(key, old, new))
        return new

    def _report(self, change: Change) -> None:
        """Report a change to all; what a listener itself changes is reported after that."""
        self._unreported.append(change)
        if self._is_reporting:
            return
        self._is_reporting = True
        try:
            while self._unreported:
                change = self._unreported.popleft()
                for listener in self._listeners:
                    listener(change)
        finally:
            self._is_reporting = False

    async def send(self, request: Request) -> bytes:
        """Carry out a request of the operator; raises ApiError."""
        self.requests += 1
        await asyncio.sleep(LATENCY_SECONDS)
        key, subresource = _key_of(request.path.url)
        body = _decode(request.body) if request.body else None
        return _encode(self._answer(request, key, subresource, body))

    def _answer(self, request: Request, key: Key, subresource: str, body: Any) -> object:  # noqa: ANN401 - any JSON
        only = subresource or None
        match request.verb:
            case "get":
                return self.read(key)
            case "list":
                return self._listed(key, request.query or {})
            case "create":
                place = {"namespace": key.namespace} if key.namespace else {}
                return self.create(key.plural, merged(body, {"metadata": place}))
            case "update":
                return self.update(key, lambda old: _replaced(old, body), only=only)
            case "patch":
                return self.update(key, _patching(request.content_type, body), only=only)
            case "delete":
                gone = self.delete(key, body)
                # Of a custom resource the server shows nothing more.
                is_ours = request.path.url.startswith(f"/apis/{GROUP}/")
                return {"kind": "Status", "metadata": {}} if is_ours else gone
            case _:
                raise Invalid(f"{request.verb} is not answered here", status=405)

    def _listed(self, key: Key, query: Mapping[str, str]) -> Raw:
        labels = dict(each.split("=") for each in query.get("labelSelector", "").split(",") if each)
        items = [
            each
            for (namespace, _), each in self._objects.get(key.plural, {}).items()
            if key.namespace in ("", namespace)
            and labels.items() <= each["metadata"].get("labels", {}).items()
        ]
        return {"metadata": {_VERSION: str(next(self._versions))}, "items": items}

    def stream(
        self,
        request: Request,
        *,
        silence_seconds: float,  # noqa: ARG002 - as every sender takes it
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Nothing is watched this way: see `listen`."""
        raise Invalid(f"{request.path.url} cannot be watched here", status=405)

    async def close(self) -> None:
        """Nothing is open."""


def _replaced(old: Raw, new: Raw) -> Raw:
    """The new object, which keeps what the server alone sets."""
    kept = {key: old["metadata"][key] for key in ("uid", "generation", "creationTimestamp")}
    return {**new, "metadata": {**kept, **new["metadata"]}}


def _parts(of: Raw, only: str | None) -> Raw:
    """What a request may change: a subresource, or all the rest."""
    return {key: value for key, value in of.items() if (key == "status") == (only == "status")}


def _as_pod(manifest: Raw) -> Raw:
    """A new pod, with what the server fills in."""
    defaults = {"schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
    containers = [_with_requests(each) for each in manifest["spec"]["containers"]]
    spec = {**defaults, **manifest["spec"], "containers": containers}
    return {**manifest, "spec": spec, "status": {"phase": "Pending"}}


def _with_requests(container: Raw) -> Raw:
    """The container, which requests what its limits say unless it says otherwise."""
    resources = container.get("resources", {})
    requests = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _patching(content_type: str, body: Any) -> Callable[[Raw], Raw]:  # noqa: ANN401 - any JSON
    if content_type.startswith("application/merge-patch"):
        return lambda old: merged(old, body)
    if content_type.startswith("application/json-patch"):
        return lambda old: operated(old, body)
    return lambda old: applied(old, body)


def _key_of(url: str) -> tuple[Key, str]:
    """The object or, without a name, the collection at a path, and the subresource."""
    segments = [unquote(each) for each in url.split("/")[1:]]
    rest = iter(segments[2:] if segments[0] == "api" else segments[3:])
    plural, namespace = next(rest), ""
    if plural == "namespaces" and len(segments) > _SEGMENTS_OF_A_NAMESPACE:
        namespace, plural = next(rest), next(rest)
    return Key(plural, namespace, next(rest, "")), next(rest, "")


def timestamp(clock: Clock, later_seconds: int = 0) -> str:
    """The time, as objects hold it: in whole seconds."""
    return rfc3339(clock.now() + timedelta(seconds=later_seconds))
