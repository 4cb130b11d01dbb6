"""API paths of objects, and their resource names for metrics.

Names come from users, so each is quoted, and a path has exactly the intended segments.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote

from plimsoll.errors import UnsafePath

FIELD_MANAGER = "plimsoll"
"""The name under which we apply, as shown in objects' managed fields."""


_UPWARDS: Final = frozenset({"", ".", ".."})
_DIVIDING: Final = frozenset("/%")
"""Characters that Kubernetes forbids in names, because its servers split paths after unquoting."""


class ApiPath(NamedTuple):
    """The path of an object or a collection; `resource` names it for metrics and RBAC."""

    url: str
    resource: str


def joined(*segments: str) -> str:
    """The path of exactly these segments. Raises UnsafePath if one would not remain one."""
    return "".join(f"/{_segment(each)}" for each in segments)


def _segment(text: str) -> str:
    if text in _UPWARDS or not _DIVIDING.isdisjoint(text):
        raise UnsafePath(f"{text!r} cannot be part of a path: it would lead to another one")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise UnsafePath(f"{text!r} cannot be part of a path: it is no text") from error


def group_version(group: str, version: str) -> ApiPath:
    """The discovery path of an API group's kinds; the core group is ""."""
    return ApiPath(joined(*_root(group, version)), "apis")


def _root(group: str, version: str) -> tuple[str, ...]:
    return ("apis", group, version) if group else ("api", version)


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object, by its plural in URLs."""

    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def everywhere(self) -> ApiPath:
        """All objects of this kind in the cluster. Raises UnsafePath, as do the others."""
        return ApiPath(joined(*self._root, self.plural), self.plural)

    def within(self, namespace: str) -> ApiPath:
        """All objects of this kind in a namespace."""
        return ApiPath(joined(*self._collection(namespace)), self.plural)

    def named(self, name: str, namespace: str = "", subresource: str = "") -> ApiPath:
        """A single object, or a subresource such as `status`."""
        segments = (*self._collection(namespace), name)
        if not subresource:
            return ApiPath(joined(*segments), self.plural)
        return ApiPath(joined(*segments, subresource), f"{self.plural}/{subresource}")

    def _collection(self, namespace: str) -> tuple[str, ...]:
        place = ("namespaces", namespace) if self.namespaced else ()
        return (*self._root, *place, self.plural)

    @property
    def _root(self) -> tuple[str, ...]:
        return _root(self.group, self.version)


PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes", namespaced=False)
NODE_CLAIMS = Resource("karpenter.sh", "v1", "nodeclaims", namespaced=False)
PROVISIONING_REQUESTS = Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests")
POD_TEMPLATES = Resource("", "v1", "podtemplates")
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
SERVICES = Resource("", "v1", "services")
EVENTS = Resource("", "v1", "events")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
BATCH_JOBS = Resource("batch", "v1", "jobs")
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
