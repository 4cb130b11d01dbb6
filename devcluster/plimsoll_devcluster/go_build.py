"""The programs built from Go modules: hack/control-plane, one binary under several names."""

import shutil
import subprocess
import time
from pathlib import Path

from plimsoll_devcluster import versions
from plimsoll_devcluster.program_flags import PROGRAMS
from plimsoll_devcluster.source_failed import SourceFailedError
from plimsoll_devcluster.telling import tell

MODULE = Path(__file__).parents[2] / "hack" / "control-plane"
BINARY = "control-plane"
REPORT_SECONDS = 60


def build(folder: Path) -> None:
    """Build the binary into `folder`, with a link for each of its names.

    Raises SourceFailedError.
    """
    go = shutil.which("go")
    if go is None:
        raise SourceFailedError("there is no Go on this machine")
    tell("building the control plane from Go modules: up to a quarter of an hour, once")
    command = [go, "build", "-trimpath", "-ldflags", _linker_flags(), "-o", str(folder / BINARY)]
    _run_with_reports(["env", "CGO_ENABLED=0", *command, "."])
    for program in PROGRAMS:
        (folder / program).symlink_to(BINARY)


def _linker_flags() -> str:
    """Return the flags that tell the programs their version, which they compare with others'."""
    major, minor, _patch = versions.KUBERNETES.split(".")
    component = "k8s.io/component-base/version"
    return (
        f"-s -w -X {component}.gitVersion=v{versions.KUBERNETES}"
        f" -X {component}.gitMajor={major} -X {component}.gitMinor={minor}"
        f" -X k8s.io/client-go/pkg/version.gitVersion=v{versions.KUBERNETES}"
    )


def _run_with_reports(command: list[str]) -> None:
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=MODULE)
    try:
        while process.poll() is None:
            try:
                process.wait(REPORT_SECONDS)
            except subprocess.TimeoutExpired:
                tell(f"still building, {round((time.monotonic() - started) / 60)} min so far")
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise SourceFailedError(f"go build ended with {process.returncode}; its words are above")
    tell(f"built the control plane in {round(time.monotonic() - started)} s")
