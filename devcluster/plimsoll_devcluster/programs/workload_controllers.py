"""Find the controllers of other workload kinds, or build them: each by itself, when it is wanted.

In this order:

1. the folder NAME-VERSION in the folder that `PLIMSOLL_WORKLOAD_CONTROLLERS` names
2. the cache, `${XDG_CACHE_HOME:-~/.cache}/plimsoll/NAME-VERSION`
3. a build from Go modules into the cache

Such a folder holds the program, called NAME, and what upstream installs beside it: the definitions
of its kinds in `crds`, its webhooks in `webhooks` if it has any, objects that users name in
`objects`, and its own `examples`.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from plimsoll_devcluster.programs import cache, go_build, versions
from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.go_build import HACK
from plimsoll_devcluster.programs.sources import Source, failures_to_fill

GIVEN = "PLIMSOLL_WORKLOAD_CONTROLLERS"
CRDS = "crds"
WEBHOOKS = "webhooks"
OBJECTS = "objects"
EXAMPLES = "examples"


class NoWorkloadControllerError(Exception):
    """A controller was neither found nor could be built; the message says what would help."""


@dataclass(frozen=True, slots=True)
class ControllerProgram:
    """A controller, the Go module it is from, and where that has what is installed beside it.

    `revision` counts how often that has changed without the version.
    """

    name: str
    title: str
    version: str
    module: str
    package: str
    build_in: Path
    beside: Mapping[str, str] = field(default_factory=dict[str, str])
    revision: int = 1

    @property
    def folder_name(self) -> str:
        """What its folder is called."""
        name = f"{self.name}-{self.version}"
        return name if self.revision == 1 else f"{name}-{self.revision}"

    def build(self, folder: Path) -> None:
        """Fill a folder. Raises SourceFailedError."""
        announce(f"building {self.title} from Go modules: some minutes, once")
        go_build.build_package(self.build_in, self.package, folder / self.name)
        sources = go_build.sources_of(self.build_in, self.module)
        for name, pattern in self.beside.items():
            _copy(sources, pattern, folder / name)


JOBSET = ControllerProgram(
    name="jobset",
    title="JobSet's controller",
    version=versions.JOBSET,
    module="sigs.k8s.io/jobset",
    package="./jobset",
    build_in=HACK / "workload-controllers",
    beside={
        CRDS: "config/components/crd/bases/jobset.x-k8s.io_*.yaml",
        WEBHOOKS: "config/components/webhook/**/*.yaml",
    },
    revision=2,
)
TRAINER = ControllerProgram(
    name="trainer",
    title="Kubeflow Trainer's controller",
    version=versions.TRAINER,
    module="github.com/kubeflow/trainer/v2",
    package="./trainer",
    build_in=HACK / "workload-controllers",
    beside={
        CRDS: "manifests/base/crds/trainer.kubeflow.org_*.yaml",
        WEBHOOKS: "manifests/base/webhook/**/*.yaml",
        OBJECTS: "manifests/base/runtimes/torch_distributed.yaml",
        EXAMPLES: "examples/yaml/*.yaml",
    },
    revision=3,
)
TRAINING_OPERATOR = ControllerProgram(
    name="training-operator",
    title="Kubeflow's training operator",
    version=versions.TRAINING_OPERATOR,
    module="github.com/kubeflow/training-operator",
    package=".",
    build_in=HACK / "training-operator",
    beside={
        CRDS: "manifests/base/crds/kubeflow.org_*.yaml",
        WEBHOOKS: "manifests/base/webhook/**/*.yaml",
        EXAMPLES: "examples/pytorch/**/*.yaml",
    },
    revision=5,
)
KUBERAY = ControllerProgram(
    name="kuberay",
    title="KubeRay",
    version=versions.KUBERAY,
    module="github.com/ray-project/kuberay/ray-operator",
    package=".",
    build_in=HACK / "kuberay",
    beside={
        # Those of RayClusters and RayJobs: each definition is a megabyte.
        CRDS: "config/crd/bases/ray.io_ray[cj][lo]*.yaml",
        EXAMPLES: "config/samples/**/ray-*.yaml",
    },
    revision=3,
)
APPWRAPPER = ControllerProgram(
    name="appwrapper",
    title="AppWrapper's controller",
    version=versions.APPWRAPPER,
    module="github.com/project-codeflare/appwrapper",
    package=".",
    build_in=HACK / "appwrapper",
    beside={
        CRDS: "config/crd/bases/workload.codeflare.dev_*.yaml",
        WEBHOOKS: "config/webhook/*.yaml",
        EXAMPLES: "samples/*.yaml",
    },
)
ALL = (JOBSET, TRAINER, TRAINING_OPERATOR, KUBERAY, APPWRAPPER)


def find_controller(
    program: ControllerProgram,
    environment: Mapping[str, str],
    given: Sequence[Source] | None = None,
) -> Path:
    """Return the folder of a controller, filling the cache if necessary.

    Raises NoWorkloadControllerError.
    """
    if named := environment.get(GIVEN):
        folder = Path(named) / program.folder_name
        if not _is_full(program, folder):
            raise NoWorkloadControllerError(f"{GIVEN}: there is no {program.name} in {folder}")
        return folder
    folder = cache.cache_folder(environment, program.folder_name)
    failures = failures_to_fill(
        folder,
        [Source("build", program.build)] if given is None else given,
        what=program.title,
        is_full=partial(_is_full, program, folder),
    )
    if failures:
        raise NoWorkloadControllerError(_ways_out(program, failures))
    return folder


def _ways_out(program: ControllerProgram, failures: Sequence[str]) -> str:
    tried = "\n  ".join(failures)
    return (
        f"{program.title} could not be had:\n  {tried}\n"
        "Provide any one of these:\n"
        f"  - {GIVEN}: a folder that holds {program.folder_name}, from another machine's cache\n"
        "  - Go, and a network that reaches a Go module proxy"
    )


def _is_full(program: ControllerProgram, folder: Path) -> bool:
    runs = os.access(folder / program.name, os.X_OK)
    return runs and all((folder / name).is_dir() for name in program.beside)


def _copy(sources: Path, pattern: str, target: Path) -> None:
    """Copy files, in the folders below the pattern's fixed part that they are in."""
    root = sources / pattern.partition("*")[0].rpartition("/")[0]
    for file in sources.glob(pattern):
        copy = target / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
