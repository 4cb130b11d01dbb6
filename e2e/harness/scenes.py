"""A namespace of a real cluster, as a scene for one test."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager

from harness.real_cluster import PATIENCE_SECONDS
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.leftovers import remove_namespace
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene


@contextmanager
def open_scene(api: ApiServer) -> Generator[Scene]:
    """A fresh namespace in which pods can be made; it is removed with all that is in it."""
    name = f"test-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_until(
        lambda: api.exists(account), timeout_seconds=PATIENCE_SECONDS, what=f"{account} exists"
    )
    try:
        yield Scene(api, name, patience_seconds=PATIENCE_SECONDS)
    finally:
        remove_namespace(api, name)
