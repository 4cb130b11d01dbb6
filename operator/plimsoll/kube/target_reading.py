"""How a workload that another controller runs is read and scaled: by its `/scale`.

Its kind may be any; which plural that has, and whether it can be scaled, the API server is asked.
"""

from plimsoll.errors import Forbidden, NotFound
from plimsoll.kube.client import KubeClient
from plimsoll.kube.objects import Wire
from plimsoll.kube.resources import ApiPath, Resource
from plimsoll.kube.workloads import Reading, Reference, Scale, Workload


class _Kind(Wire, frozen=True):
    name: str
    kind: str = ""


class _Kinds(Wire, frozen=True):
    resources: tuple[_Kind, ...] = ()


class Workloads:
    """Reads and scales workloads."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._kinds: dict[tuple[str, str], Resource] = {}

    async def read(self, reference: Reference, before: Reading | None) -> Reading:
        """The workload as it is now; the same reading where nothing changed.

        Raises ApiError where it cannot be known.
        """
        try:
            found = await self._read(reference, before)
        except NotFound:
            self._kinds.pop((reference.api_version, reference.kind), None)
            problem = f"there is no {reference}: create it, or correct spec.targetRef"
        except Forbidden as error:
            problem = f"{error.message}: grant it with rbac.targets of the Helm chart"
        else:
            return found
        same = before is not None and before.problem == problem
        return before if before and same else Reading(reference, problem=problem)

    async def _read(self, reference: Reference, before: Reading | None) -> Reading:
        resource = await self.resource(reference)
        if resource is None:
            text = (
                f"{reference.api_version} has no kind {reference.kind} with a /scale:"
                " correct spec.targetRef, or install it"
            )
            return Reading(reference, problem=text)
        path = (reference.name, reference.namespace)
        scale = await self._client.get(resource.named(*path, "scale"), Scale)
        if before and before.scale.metadata.resource_version == scale.metadata.resource_version:
            return before
        return Reading(reference, scale, await self._client.get(resource.named(*path), Workload))

    async def resource(self, reference: Reference) -> Resource | None:
        """Where the kind is in the API; None where it is not, or has no `/scale`."""
        key = (reference.api_version, reference.kind)
        if key not in self._kinds:
            found = await self._discovered(*key)
            if found is None:
                return None
            self._kinds[key] = found
        return self._kinds[key]

    async def _discovered(self, api_version: str, kind: str) -> Resource | None:
        group, _, version = api_version.rpartition("/")
        url = f"/apis/{api_version}" if group else f"/api/{api_version}"
        try:
            found = await self._client.get(ApiPath(url, "apis"), _Kinds)
        except NotFound:
            return None
        names = {each.name for each in found.resources}
        plurals = (e.name for e in found.resources if e.kind == kind and "/" not in e.name)
        plural = next((name for name in plurals if f"{name}/scale" in names), None)
        return Resource(group, version, plural) if plural else None

    async def scale(self, reference: Reference, replicas: int) -> Scale:
        """Set the count, in our name. Raises ApiError."""
        resource = await self.resource(reference)
        if resource is None:
            raise NotFound(f"there is no {reference}")
        path = resource.named(reference.name, reference.namespace, "scale")
        return await self._client.merge_patch(path, {"spec": {"replicas": replicas}}, Scale)
