"""Give a worker access to the operator: its address, and a token valid for this pod only.

The token is bound to the pod and issued for our audience alone; kubelet renews it before it
expires.
"""

from typing import Any, Final

from plimsoll.acting.pods.manifest import Manifest
from plimsoll.api.definition import GROUP

FOLDER: Final = f"/var/run/secrets/{GROUP}"
TOKEN_SECONDS: Final = 3600
_VOLUME: Final = "plimsoll-token"
_FILE: Final = "token"


def with_access(pod: Manifest, url: str) -> Manifest:
    """The pod with the address and a token in each container; unchanged if there is no address.

    Whatever the user's template has in these places stays, as it may mean another operator.
    """
    spec = pod["spec"]
    if not url or any(each.get("name") == _VOLUME for each in spec.get("volumes", ())):
        return pod
    containers = [_with_access(each, url) for each in spec["containers"]]
    volumes = [*spec.get("volumes", ()), _token_volume()]
    return {**pod, "spec": {**spec, "containers": containers, "volumes": volumes}}


def _with_access(container: Manifest, url: str) -> Manifest:
    mounts: list[dict[str, Any]] = container.get("volumeMounts", [])
    if any(mount.get("mountPath") == FOLDER for mount in mounts):
        return container
    own = container.get("env", [])
    named = {each.get("name") for each in own}
    ours = {"PLIMSOLL_WORKER_URL": url, "PLIMSOLL_TOKEN_FILE": f"{FOLDER}/{_FILE}"}
    env = [{"name": key, "value": value} for key, value in ours.items() if key not in named]
    mount = {"name": _VOLUME, "mountPath": FOLDER, "readOnly": True}
    return {**container, "env": [*env, *own], "volumeMounts": [*mounts, mount]}


def _token_volume() -> Manifest:
    token = {"audience": GROUP, "expirationSeconds": TOKEN_SECONDS, "path": _FILE}
    return {"name": _VOLUME, "projected": {"sources": [{"serviceAccountToken": token}]}}
