"""The custom resources, made known to an API server."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ESTABLISHED_SECONDS = 30


def install_crds(api: ApiServer, folder: Path) -> list[str]:
    """Apply every definition in `folder`; return their names when all are established."""
    definitions = list(_definitions(folder))
    for definition in definitions:
        api.apply(f"{DEFINITIONS}/{definition['metadata']['name']}", definition)
    names = [definition["metadata"]["name"] for definition in definitions]
    for name in names:
        wait_until(
            lambda name=name: _is_established(api.get(f"{DEFINITIONS}/{name}")),
            timeout_seconds=ESTABLISHED_SECONDS,
            what=f"{name} is established",
        )
    return names


def _definitions(folder: Path) -> Iterator[Manifest]:
    for file in sorted(folder.glob("*.yaml")):
        yield from (document for document in yaml.safe_load_all(file.read_text()) if document)


def _is_established(definition: Manifest) -> bool:
    conditions = definition.get("status", {}).get("conditions", [])
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
