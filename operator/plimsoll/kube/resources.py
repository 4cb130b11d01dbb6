"""Where an object is found on the API server, and what its resource is called in metrics."""

from dataclasses import dataclass
from typing import NamedTuple

FIELD_MANAGER = "plimsoll"
"""In whose name we apply, as objects' managed fields say."""


class ApiPath(NamedTuple):
    """The path of an object or a collection; `resource` is its name for metrics and rights."""

    url: str
    resource: str


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
        """All objects of this kind in the cluster."""
        return ApiPath(f"{self._root}/{self.plural}", self.plural)

    def within(self, namespace: str) -> ApiPath:
        """The objects in a namespace."""
        return ApiPath(f"{self._root}/namespaces/{namespace}/{self.plural}", self.plural)

    def named(self, name: str, namespace: str = "", subresource: str = "") -> ApiPath:
        """One object, or what lies below it, such as `status`."""
        collection = self.within(namespace) if self.namespaced else self.everywhere()
        if not subresource:
            return ApiPath(f"{collection.url}/{name}", self.plural)
        return ApiPath(f"{collection.url}/{name}/{subresource}", f"{self.plural}/{subresource}")

    @property
    def _root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
SERVICES = Resource("", "v1", "services")
EVENTS = Resource("", "v1", "events")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
