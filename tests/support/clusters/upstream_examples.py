"""The examples that other workload kinds' own releases bring."""

import os

import yaml

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.programs.workload_controllers import (
    EXAMPLES,
    ControllerProgram,
    find_controller,
)


def upstream_example(program: ControllerProgram, file: str) -> Manifest:
    """The workload in a file of a controller's release; what the file has beside it is left out."""
    path = find_controller(program, os.environ) / EXAMPLES / file
    (workload,) = (each for each in yaml.safe_load_all(path.read_text()) if each and "spec" in each)
    return workload
