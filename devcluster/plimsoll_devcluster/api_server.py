"""A plain connection to an API server, for building clusters and looking at them.

It is not the operator's client: no watches kept current, no types, and no retries unless the server
asks for them.
"""

import json
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path

import urllib3
from kubernetes import client, config

from plimsoll_devcluster.manifest import Manifest

CONNECTIONS = 32
USER_AGENT = "plimsoll-devcluster"
# The server ends most requests itself after a minute: its answer says more than our own timeout.
ANSWER_SECONDS = 75
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
# As client-go does: the server sends "retry later" while it is starting or registers a resource.
PATIENCE = urllib3.Retry(
    total=None,
    connect=0,
    read=0,
    redirect=0,
    other=0,
    status=10,
    status_forcelist={HTTPStatus.TOO_MANY_REQUESTS},
    allowed_methods=None,
    raise_on_status=False,
)


class ApiServerRefusedError(Exception):
    """The API server responded with a refusal."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class ApiServer:
    """The API server that a kubeconfig leads to. Threads may share it."""

    def __init__(self, kubeconfig: Path, *, user: str = "") -> None:
        self._kubeconfig, self._user = kubeconfig, user
        settings = client.Configuration()
        settings.connection_pool_maxsize = CONNECTIONS
        config.load_kube_config(  # pyright: ignore[reportUnknownMemberType] - half typed upstream
            str(kubeconfig), client_configuration=settings
        )
        self._settings = settings
        self._pool = client.ApiClient(settings).rest_client.pool_manager

    def as_user(self, user: str) -> "ApiServer":
        """The same server as seen by that user, who has only the rights granted by name."""
        return ApiServer(self._kubeconfig, user=user)

    @property
    def url(self) -> str:
        """The server's address."""
        return str(self._settings.host)

    def text(self, path: str) -> str:
        """Read a path that returns plain text, such as /metrics."""
        return self._send("GET", path, b"", "").decode()

    def get(self, path: str) -> Manifest:
        """Read an object or a list."""
        return json.loads(self._send("GET", path, b"", ""))

    def items(self, path: str) -> list[Manifest]:
        """Return the items of a list."""
        return self.get(path)["items"]

    def watch(self, path: str, since: str = "") -> Generator[Manifest]:
        """Yield the events of a watch until the server ends it.

        `since` is the resourceVersion to continue from; without it existing objects come first.
        """
        query = f"?watch=true&resourceVersion={since}"
        response = self._request("GET", path + query, b"", "", preload_content=False)
        for line in response:
            yield json.loads(line)

    def create(self, path: str, manifest: Manifest) -> Manifest:
        """Create an object in the collection at `path`."""
        return self._write("POST", path, manifest, "application/json")

    def create_text(self, path: str, body: bytes) -> None:
        """Create an object that Python would not write: JSON as given."""
        self._send("POST", path, body, "application/json")

    def create_all(self, path: str, manifests: Iterable[Manifest]) -> None:
        """Create many objects in the collection at `path`, many at a time."""
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for _ in pool.map(partial(self.create, path), manifests):
                pass

    def replace(self, path: str, manifest: Manifest) -> Manifest:
        """Write a whole object."""
        return self._write("PUT", path, manifest, "application/json")

    def merge(self, path: str, patch: Manifest) -> Manifest:
        """Change some fields of an object; `None` removes one."""
        return self._write("PATCH", path, patch, MERGE_PATCH)

    def apply(
        self, path: str, manifest: Manifest, *, manager: str = "plimsoll-devcluster"
    ) -> Manifest:
        """Make an object match `manifest`, whether it exists or not."""
        query = f"?fieldManager={manager}&force=true"
        return self._write("PATCH", path + query, manifest, APPLY_PATCH)

    def delete(self, path: str) -> None:
        """Delete an object or a collection; it may already be gone."""
        with _absence_is_fine():
            self._send("DELETE", path, b"", "")

    def delete_all(self, path: str, *, grace_seconds: int | None = None) -> None:
        """Delete every object of the collection at `path`, many at a time.

        The server itself deletes a collection one by one, in one request that may end too early.
        """
        query = "" if grace_seconds is None else f"?gracePeriodSeconds={grace_seconds}"
        names = [item["metadata"]["name"] for item in self.items(path)]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for _ in pool.map(self.delete, [f"{path}/{name}{query}" for name in names]):
                pass

    def exists(self, path: str) -> bool:
        """Whether there is an object at `path`."""
        with _absence_is_fine():
            self.get(path)
            return True
        return False

    def is_ready(self) -> bool:
        """Whether the server reports ready; without a connection it is not."""
        with suppress(ApiServerRefusedError, urllib3.exceptions.HTTPError):
            return self.text("/readyz") == "ok"
        return False

    def _write(self, method: str, path: str, body: Manifest, content_type: str) -> Manifest:
        return json.loads(self._send(method, path, json.dumps(body).encode(), content_type))

    def _send(self, method: str, path: str, body: bytes, content_type: str) -> bytes:
        response = self._request(method, path, body, content_type, preload_content=True)
        return response.data

    def _request(
        self, method: str, path: str, body: bytes, content_type: str, *, preload_content: bool
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        if content_type:
            headers["Content-Type"] = content_type
        if authorization := self._settings.get_api_key_with_prefix("BearerToken", "authorization"):
            headers["Authorization"] = authorization
        if self._user:
            headers["Impersonate-User"] = self._user
        response = self._pool.request(
            method,
            self.url + path,
            body=body or None,
            headers=headers,
            retries=PATIENCE,
            timeout=ANSWER_SECONDS if preload_content else None,
            preload_content=preload_content,
        )
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise ApiServerRefusedError(response.status, _message(response.data))
        return response


@contextmanager
def _absence_is_fine() -> Generator[None]:
    try:
        yield
    except ApiServerRefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def _message(data: bytes) -> str:
    """Return the message of the Status object in `data`, or `data` itself."""
    with suppress(ValueError, AttributeError):
        return str(json.loads(data).get("message"))
    return data.decode(errors="replace")
