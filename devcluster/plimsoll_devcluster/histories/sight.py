"""Look at a cluster directly, bypassing the operator and the proxy."""

import threading
from types import TracebackType
from typing import Self

from urllib3.exceptions import HTTPError

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.histories.checker import Witness
from plimsoll_devcluster.histories.script import GROUP, Lane
from plimsoll_devcluster.histories.world import World, name_of
from plimsoll_devcluster.waiting import POLL_SECONDS

PODS = "/api/v1/pods"
KINDS = {"trainingjobs": "TrainingJob", "inferencejobs": "InferenceJob"}


def world_of(api: ApiServer) -> World:
    """Everything that exists now.

    What comes or goes between two of the lists looks wrong once, so look again before judging.
    """
    jobs = [
        {**item, "kind": kind}
        for plural, kind in KINDS.items()
        for item in api.items(f"{GROUP}/{plural}")
    ]
    nodes = {name_of(node): node for node in api.items(NODES)}
    services = api.items("/api/v1/services?labelSelector=plimsoll.dev/job-uid")
    return World(nodes, api.items(PODS), jobs, services)


class Sight:
    """Shows a witness every pod, from a thread, while it is entered."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.witness = Witness()

    def expect(self, lane: Lane) -> None:
        """Inform the witness of what a lane may have."""
        with self._lock:
            self.witness.expect(lane)

    def _look(self) -> None:
        """Watch, and continue where a watch ended: the server ends those that lag behind."""
        since = ""
        while not self._over.is_set():
            try:
                since = since or self._begin()
                for event in self._api.watch(PODS, since):
                    if event["type"] == "ERROR":
                        since = ""
                        break
                    since = event["object"]["metadata"]["resourceVersion"]
                    with self._lock:
                        self.witness.see(event["type"], event["object"])
            except HTTPError:
                self._over.wait(POLL_SECONDS)
            except ApiServerRefusedError:
                since = ""
                self._over.wait(POLL_SECONDS)

    def _begin(self) -> str:
        """Start with what exists; return the version to continue from."""
        found = self._api.get(PODS)
        with self._lock:
            self.witness.forget()
            for pod in found["items"]:
                self.witness.see("ADDED", pod)
        return str(found["metadata"]["resourceVersion"])

    def __enter__(self) -> Self:
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
