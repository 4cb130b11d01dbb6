"""Install the custom resource definitions on an API server."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.waiting import wait_until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVED_SECONDS = 30


def install_crds(api: ApiServer, folder: Path) -> list[str]:
    """Apply every definition in `folder` and below; return their names once all are served."""
    definitions = list(_definitions(folder))
    for definition in definitions:
        api.apply(f"{DEFINITIONS}/{definition['metadata']['name']}", definition)
    for definition in definitions:
        wait_until(
            partial(_is_served, api, definition),
            timeout_seconds=SERVED_SECONDS,
            what=f"{definition['metadata']['name']} is established and served",
        )
    return [definition["metadata"]["name"] for definition in definitions]


def _definitions(folder: Path) -> Iterator[Manifest]:
    for file in sorted(folder.rglob("*.yaml")):
        yield from manifests_in(file.read_text())


def _is_served(api: ApiServer, definition: Manifest) -> bool:
    spec = definition["spec"]
    version = next(version["name"] for version in spec["versions"] if version["storage"])
    status = api.get(f"{DEFINITIONS}/{definition['metadata']['name']}").get("status", {})
    # Null if the definition that was applied brought a status without any.
    conditions: list[Manifest] = status.get("conditions") or []
    established = any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
    # The Established condition appears a moment before the resource is served.
    return established and api.exists(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
