"""Another tenant beside that of a test: a namespace of its own in the same cluster."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager

from plimsoll_devcluster.leftovers import remove_namespace
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene


@contextmanager
def beside(scene: Scene, prefix: str) -> Generator[Scene]:
    """A fresh namespace in which pods can be created, until the block ends."""
    name = f"{prefix}-{secrets.token_hex(4)}"
    scene.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_until(lambda: scene.api.exists(account), timeout_seconds=30, what="it takes pods")
    yield Scene(scene.api, name, scene.operator)
    remove_namespace(scene.api, name)
