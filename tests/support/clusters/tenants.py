"""The namespace of a test, and that of another tenant beside it in the same cluster."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.leftovers import remove_namespace
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene


@contextmanager
def fresh_namespace(api: ApiServer, prefix: str) -> Generator[str]:
    """A namespace in which pods can be created, until the block ends."""
    name = f"{prefix}-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_until(lambda: api.exists(account), timeout_seconds=30, what=f"{name} takes pods")
    yield name
    remove_namespace(api, name)


@contextmanager
def beside(scene: Scene, prefix: str) -> Generator[Scene]:
    """A scene in a fresh namespace, until the block ends."""
    with fresh_namespace(scene.api, prefix) as name:
        yield Scene(scene.api, name, scene.operator)
