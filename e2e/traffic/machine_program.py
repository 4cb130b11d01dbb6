"""A program of this machine as a container, in any image with a C library.

It comes from the folder that the nodes share with this machine, so it needs no image of its own.
"""

import shutil
from pathlib import Path

from harness.real_cluster import SHARED
from harness.stand_ins import SMALL
from plimsoll_devcluster.manifest import Manifest

_FOLDER = "/programs"


def container_with(program: Path, arguments: list[str], *, image: str, shared: Path) -> Manifest:
    """A container that runs the program, which `volume` makes visible."""
    here = shared / program.name
    if not here.exists():
        shutil.copy(program, here)
    return {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [f"{_FOLDER}/{program.name}", *arguments],
        "resources": {"requests": dict(SMALL)},
        "volumeMounts": [{"name": "programs", "mountPath": _FOLDER}],
    }


def volume() -> Manifest:
    """The volume of a pod that has such a container."""
    return {"name": "programs", "hostPath": {"path": SHARED, "type": "Directory"}}
