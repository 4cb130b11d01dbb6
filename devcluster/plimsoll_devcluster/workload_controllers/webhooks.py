"""Webhook configurations as upstream's kustomization makes them, for a server on loopback."""

import base64
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from plimsoll_devcluster.manifest import Manifest, manifests_in

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MANIFESTS = "manifests.yaml"
COLLECTIONS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


def configurations(folder: Path, *, name: str, url: str, authority: bytes) -> list[Manifest]:
    """The configurations in a folder of upstream's, called `name`, whose server is at `url`.

    `authority` is PEM: what the server's certificate is checked by.
    """
    found: list[Manifest] = list(_documents(folder / MANIFESTS))
    for configuration in found:
        for patch in _patches(folder, configuration["kind"]):
            _apply(configuration, patch)
        configuration["metadata"]["name"] = name
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            bundle = base64.b64encode(authority).decode()
            webhook["clientConfig"] = {"url": f"{url}{path}", "caBundle": bundle}
    return found


def path_of(configuration: Manifest) -> str:
    """Where a configuration is."""
    collection = COLLECTIONS[configuration["kind"]]
    return f"{ADMISSION}/{collection}/{configuration['metadata']['name']}"


def _patches(folder: Path, kind: str) -> Iterator[Manifest]:
    """The JSON patches that the kustomization in a folder names for a kind."""
    for kustomization in _documents(folder / "kustomization.yaml"):
        for patch in kustomization.get("patches", ()):
            if patch["target"]["kind"] == kind:
                yield from chain.from_iterable(_documents(folder / patch["path"]))


def _apply(target: Manifest, patch: Manifest) -> None:
    """Do what a JSON patch asks for: those of webhooks replace and add."""
    *parents, last = patch["path"].removeprefix("/").split("/")
    holder: Any = target
    for each in parents:
        holder = holder[int(each) if isinstance(holder, list) else each]
    holder[int(last) if isinstance(holder, list) else last] = patch["value"]


def _documents(file: Path) -> Iterator[Any]:
    yield from manifests_in(file.read_text())
