"""Kinds with a `/scale` that nobody but the test controls: some plain, some that never answer."""

import socket
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import partial

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import DEFINITIONS
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

SECONDS = 60
_ANYTHING: Manifest = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def _version(name: str, *, stored: bool) -> Manifest:
    spec = {**_ANYTHING, "properties": {"replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": _ANYTHING}}
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": _SCALE},
    }


def _definition(group: str, kind: str, versions: Iterable[str]) -> Manifest:
    """A namespaced kind; the first version is the one that is stored."""
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [_version(name, stored=not n) for n, name in enumerate(versions)],
        },
    }


def _is_served(api: ApiServer, root: str, plural: str) -> bool:
    found = api.get(root)["resources"] if api.exists(root) else ()
    return f"{plural}/scale" in [each["name"] for each in found]


def _install(api: ApiServer, definition: Manifest) -> str:
    spec = definition["spec"]
    path = f"{DEFINITIONS}/{definition['metadata']['name']}"
    api.apply(path, definition)
    for version in spec["versions"]:
        root = f"/apis/{spec['group']}/{version['name']}"
        wait_until(
            partial(_is_served, api, root, spec["names"]["plural"]),
            timeout_seconds=SECONDS,
            what=f"{root} is served",
        )
    return path


def _remove(api: ApiServer, path: str) -> None:
    """Remove a kind and wait until it is gone: one that still goes takes no new objects."""
    api.delete(path)
    wait_until(
        lambda: not api.exists(path), timeout_seconds=SECONDS, what=f"{path} has been removed"
    )


@contextmanager
def a_scalable_kind(api: ApiServer, group: str, kind: str) -> Generator[str]:
    """A kind of version v1; the root of its API."""
    path = _install(api, _definition(group, kind, ["v1"]))
    yield f"/apis/{group}/v1"
    _remove(api, path)


@contextmanager
def a_kind_that_hangs(api: ApiServer, group: str, kind: str) -> Generator[str]:
    """A kind that answers in v1, the root of which is given, and never in v1beta1.

    Its objects are converted by a webhook that takes connections and says nothing, as happens
    where an operator is broken.
    """
    definition = _definition(group, kind, ["v1", "v1beta1"])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/convert"
        webhook = {"clientConfig": {"url": url}, "conversionReviewVersions": ["v1"]}
        definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        path = _install(api, definition)
        yield f"/apis/{group}/v1"
        _remove(api, path)
