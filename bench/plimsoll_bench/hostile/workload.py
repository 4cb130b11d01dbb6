"""What a hostile tenant does to a cluster that it shares: jobs, targets and tokens.

All of it is permitted to any user who may create jobs in one namespace.
"""

import secrets
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import urllib3

from plimsoll_devcluster.gpu_models import A100
from plimsoll_devcluster.manifest import Manifest

GROUP: Final = "slow.example"
PLURAL: Final = "modelservers"
TYPES: Final = 16
POINTS: Final = 32
MOST_WORKERS: Final = 4096
SENDERS: Final = 8
_API: Final = {"apiVersion": "plimsoll.dev/v1alpha1"}


def worst_job(rng: Random, number: int) -> Manifest:
    """A gang that may have any of 4,096 sizes on sixteen types, each with a curve of its own."""
    types = [A100, *(f"GPU-{number}-{place}" for place in range(1, TYPES))]
    step = MOST_WORKERS // POINTS
    sizes = [place * step + rng.randint(1, step) for place in range(POINTS)]
    deadline = datetime.now(UTC) + timedelta(minutes=rng.randint(1, 10_000))
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": f"{number + 1}m"}}}
    return {
        **_API,
        "kind": "TrainingJob",
        "metadata": {"name": f"worst-{number}"},
        "spec": {
            "workers": {
                "min": 1,
                "max": MOST_WORKERS,
                "gpusPerWorker": 1,
                "template": {"spec": {"containers": [container]}},
            },
            "accelerators": [
                {
                    "type": kind,
                    "throughput": [
                        {"workers": size, "rate": f"{rng.uniform(0.001, 1e6):.3f}"}
                        for size in sizes
                    ],
                }
                for kind in types
            ],
            "batch": {"size": rng.randint(10**5, 10**6), "maxSize": 2**30, "maxAccumulation": 256},
            "work": {"amount": "1e15", "unit": "samples", "deadline": deadline.isoformat()},
            "spot": {"allowed": True},
        },
    }


def hanging_definition(port: int) -> Manifest:
    """A kind whose other version is converted by a webhook that never answers."""
    hook = {"url": f"https://127.0.0.1:{port}/convert"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "ModelServer", "plural": PLURAL},
            "versions": [_version("v1", storage=True), _version("v2", storage=False)],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": hook, "conversionReviewVersions": ["v1"]},
            },
        },
    }


def _version(name: str, *, storage: bool) -> Manifest:
    anything: Manifest = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    paths = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    properties = {
        "spec": {**anything, "properties": {"replicas": {"type": "integer"}}},
        "status": {
            **anything,
            "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
        },
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    served = {"served": True, "storage": storage, "schema": schema}
    return {"name": name, **served, "subresources": {"status": {}, "scale": paths}}


def workload(number: int) -> Manifest:
    """A workload of that kind, in the version that needs no webhook."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ModelServer",
        "metadata": {"name": f"hangs-{number}"},
        "spec": {"replicas": 1},
    }


def targeting_job(number: int) -> Manifest:
    """A job that targets it in the other version."""
    target = {
        "apiVersion": f"{GROUP}/v2",
        "kind": "ModelServer",
        "name": f"hangs-{number}",
        "replicas": {"min": 0, "max": 4},
        "profiles": [{"type": A100, "load": 1}],
    }
    spec: Manifest = {"targetRef": target}
    return {**_API, "kind": "InferenceJob", "metadata": {"name": f"hangs-{number}"}, "spec": spec}


@contextmanager
def deaf_server() -> Generator[int]:
    """A port on loopback that accepts connections and says nothing, until the block ends."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as server:

        def accept() -> None:
            with suppress(OSError):  # it is closed in the end
                while True:
                    held.append(server.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    for each in held:
        each.close()


class JunkTokens:
    """Sends this many requests per minute with invalid tokens, until it is stopped."""

    def __init__(self, url: str, per_minute: int) -> None:
        self.sent = 0
        self._url, self._pause = url, 60 * SENDERS / per_minute if per_minute else 0.0
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(SENDERS)]
        for thread in self._threads if per_minute else ():
            thread.start()

    def stop(self) -> None:
        """Stop sending."""
        self._end.set()

    def _send(self) -> None:
        http = urllib3.PoolManager(retries=False, timeout=5)
        due = time.monotonic()
        while not self._end.wait(max(0.0, due - time.monotonic())):
            due += self._pause
            token = ".".join(secrets.token_urlsafe(200) for _ in range(3))
            headers = {"Authorization": f"Bearer {token}"}
            with suppress(urllib3.exceptions.HTTPError):
                http.request("POST", f"{self._url}/v1/report", body=b"{}", headers=headers)
            self.sent += 1
