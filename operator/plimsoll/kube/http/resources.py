"""Where an object is found on the API server, and what its resource is called in metrics.

Names come from users, so each is quoted, and a path has just the segments that are meant.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote

from plimsoll.errors import UnsafePath

FIELD_MANAGER = "plimsoll"
"""In whose name we apply, as objects' managed fields say."""


_UPWARDS: Final = frozenset({"", ".", ".."})
_DIVIDING: Final = frozenset("/%")
"""What Kubernetes lets no name have, for its servers split a path after it was unquoted."""


class ApiPath(NamedTuple):
    """The path of an object or a collection; `resource` is its name for metrics and rights."""

    url: str
    resource: str


def joined(*segments: str) -> str:
    """The path of just these segments. Raises UnsafePath where one would not stay one."""
    return "".join(f"/{_segment(each)}" for each in segments)


def _segment(text: str) -> str:
    if text in _UPWARDS or not _DIVIDING.isdisjoint(text):
        raise UnsafePath(f"{text!r} cannot be part of a path: it would lead to another one")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise UnsafePath(f"{text!r} cannot be part of a path: it is no text") from error


def group_version(group: str, version: str) -> ApiPath:
    """What an API group tells of the kinds that it has; the core group is called ""."""
    return ApiPath(joined(*_root(group, version)), "apis")


def _root(group: str, version: str) -> tuple[str, ...]:
    return ("apis", group, version) if group else ("api", version)


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects, by the plural that URLs have."""

    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What stands in an object's `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def everywhere(self) -> ApiPath:
        """All objects of this kind in the cluster. Raises UnsafePath, as do the others."""
        return ApiPath(joined(*self._root, self.plural), self.plural)

    def within(self, namespace: str) -> ApiPath:
        """The objects in a namespace."""
        return ApiPath(joined(*self._collection(namespace)), self.plural)

    def named(self, name: str, namespace: str = "", subresource: str = "") -> ApiPath:
        """One object, or what lies below it, such as `status`."""
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
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
SERVICES = Resource("", "v1", "services")
EVENTS = Resource("", "v1", "events")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
