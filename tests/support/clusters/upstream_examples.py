"""The examples that other workload kinds' own releases bring."""

import os

from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.programs.workload_controllers import (
    EXAMPLES,
    ControllerProgram,
    find_controller,
)


def upstream_example(program: ControllerProgram, file: str) -> Manifest:
    """The workload in a file of a controller's release; what the file has beside it is left out."""
    path = find_controller(program, os.environ) / EXAMPLES / file
    (workload,) = (each for each in manifests_in(path.read_text()) if "spec" in each)
    return workload
