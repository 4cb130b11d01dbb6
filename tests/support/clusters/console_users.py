"""Users of the console, and what they may."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from support.objects.manifests import edited, training_job

_GROUP: Final = "plimsoll.dev"
JOBS: Final = {
    "apiGroups": [_GROUP],
    "resources": ["trainingjobs", "inferencejobs"],
    "verbs": ["list"],
}
NODES: Final = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
CLUSTER_OBJECTS: Final = {
    "apiGroups": [_GROUP],
    "resources": ["gpupools", "jobqueues", "placementpolicies", "powerdomains"],
    "verbs": ["list"],
}


@dataclass(frozen=True, slots=True)
class Asking:
    """A user who asks the console."""

    console: ConsoleProcess
    token: str
    name: str
    namespace: str

    def get(self, path: str) -> tuple[int, Any]:
        """What the API answers: status and JSON."""
        return self.console.get(f"/api/v1/{path}", self.token)

    def seen(self, path: str) -> Any:  # noqa: ANN401 - any JSON
        """What is seen at a path that may be asked for."""
        status, found = self.get(path)
        assert status == 200, (status, found)
        return found

    def post(self, path: str, **body: object) -> tuple[int, Any]:
        """What the API answers a question."""
        return self.console.post(f"/api/v1/{path}", self.token, body)

    def all_text(self, *paths: str) -> str:
        """All that is seen at some paths, as one text to search for names."""
        return "\n".join(json.dumps(self.get(path)) for path in paths)


MakeUser = Callable[..., Asking]
"""Makes a user with rights `everywhere`, and `here`, in the test's namespace."""


def a_gang(name: str, *, workers: int, gpus: int = 1) -> Manifest:
    """A job of so many workers with so many GPUs each."""
    sizes = {"spec.workers.min": workers, "spec.workers.max": workers}
    spec = {"metadata.name": name, "spec.workers.gpusPerWorker": gpus, **sizes}
    return edited(training_job(), {**spec, "spec.queue": "research"})
