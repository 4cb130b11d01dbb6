"""Build the programs from Go modules.

hack/control-plane is one binary under several names, hack/prometheus is Prometheus, hack/karpenter
is Karpenter, hack/keda is KEDA, hack/kueue is Kueue. Controllers of workloads are in
hack/workload-controllers, hack/training-operator, hack/kuberay and hack/appwrapper, and share
hack/serving.
"""

import shutil
import subprocess
import time
from pathlib import Path

from plimsoll_devcluster.processes.program_flags import PROGRAMS
from plimsoll_devcluster.programs import versions
from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.source_failed import SourceFailedError

HACK = Path(__file__).parents[3] / "hack"
MODULE = HACK / "control-plane"
BINARY = "control-plane"
PROMETHEUS_MODULE = HACK / "prometheus"
PROMETHEUS = "github.com/prometheus/prometheus"
REPORT_SECONDS = 60


def build(folder: Path) -> None:
    """Build the binary into `folder`, with a link for each of its names.

    Raises SourceFailedError.
    """
    announce("building the control plane from Go modules: up to a quarter of an hour, once")
    _go_build(MODULE, ["-ldflags", _linker_flags(), "-o", str(folder / BINARY), "."])
    for program in PROGRAMS:
        (folder / program).symlink_to(BINARY)


def build_prometheus(program: str, folder: Path) -> None:
    """Build `prometheus` or `promtool` into `folder`, without web pages and service discovery.

    Raises SourceFailedError.
    """
    announce(f"building {program} from Go modules: some minutes, once")
    target = str(folder / program)
    version = f"-X github.com/prometheus/common/version.Version={versions.PROMETHEUS}"
    flags = ["-tags", "remove_all_sd", "-ldflags", f"-s -w {version}"]
    _go_build(PROMETHEUS_MODULE, [*flags, "-o", target, f"{PROMETHEUS}/cmd/{program}"])


def build_package(module: Path, package: str, target: Path) -> None:
    """Build a package of a module of ours, or of one that it requires. Raises SourceFailedError."""
    _go_build(module, ["-ldflags", "-s -w", "-o", str(target), package])


def sources_of(module: Path, required: str) -> Path:
    """The folder of a module that ours requires, once something was built from it.

    Raises SourceFailedError.
    """
    command = [_go(), "list", "-m", "-f", "{{.Dir}}", required]
    done = subprocess.run(command, cwd=module, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SourceFailedError(f"go list -m {required}: {done.stderr.strip()}")
    return Path(done.stdout.strip())


def _linker_flags() -> str:
    """Return the flags that set the programs' version, which they compare with others'."""
    major, minor, _patch = versions.KUBERNETES.split(".")
    component = "k8s.io/component-base/version"
    return (
        f"-s -w -X {component}.gitVersion=v{versions.KUBERNETES}"
        f" -X {component}.gitMajor={major} -X {component}.gitMinor={minor}"
        f" -X k8s.io/client-go/pkg/version.gitVersion=v{versions.KUBERNETES}"
    )


def _go_build(module: Path, arguments: list[str]) -> None:
    started = time.monotonic()
    _run_with_reports(["env", "CGO_ENABLED=0", _go(), "build", "-trimpath", *arguments], module)
    announce(f"built it in {round(time.monotonic() - started)} s")


def _go() -> str:
    go = shutil.which("go")
    if go is None:
        raise SourceFailedError("there is no Go on this machine")
    return go


def _run_with_reports(command: list[str], folder: Path) -> None:
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder)
    try:
        while process.poll() is None:
            try:
                process.wait(REPORT_SECONDS)
            except subprocess.TimeoutExpired:
                announce(f"still building, {round((time.monotonic() - started) / 60)} min so far")
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise SourceFailedError(f"go build ended with {process.returncode}; its words are above")
