"""`plimsoll logs` on real kubelets: all workers at once, over a restart, until the job ends."""

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.commands import run
from harness.gpu_nodes import Nodes
from harness.real_cluster import PATIENCE_SECONDS, RealCluster
from harness.stand_ins import template
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job

LINES = 100
PLIMSOLL = (sys.executable, "-c", "import sys; from plimsoll.cli import main; sys.exit(main())")

# The first gang waits to be killed; the next one says what it has to say, and is done.
PROGRAM = f"""
import os, signal, sys

signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
revision = os.environ["PLIMSOLL_REVISION"]
print("begins", revision)
if revision == "1":
    signal.pause()
for line in range({LINES}):
    print("line", line)
"""


def talking(image: str) -> Manifest:
    """A template of a container that runs PROGRAM, without a probe."""
    found = template(image)
    (container,) = found["spec"]["containers"]
    del container["readinessProbe"]
    container["command"] = ["python3", "-u", "-c", PROGRAM]
    return found


@contextmanager
def printing(file: Path, command: Sequence[str]) -> Generator["subprocess.Popen[bytes]"]:
    """A command that prints into a file for as long as the block lasts, or it does."""
    with file.open("wb") as out, subprocess.Popen(command, stdout=out) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_logs_of_all_workers_are_followed_over_a_restart_until_the_job_ends(
    scene: Scene, cluster: RealCluster, gpu_nodes: Nodes, image: str, tmp_path: Path
) -> None:
    gpu_nodes.offer(1, 1)
    backoff = {"initial": "1s", "max": "1s"}
    job = a_training_job(
        "talks", workers=2, template=talking(image), faultTolerance={"backoff": backoff}
    )
    scene.apply(job)
    first = scene.running(job)
    where = ("-n", scene.namespace, "--kubeconfig", str(cluster.kubeconfig))
    logs, printed = (*PLIMSOLL, "logs", "talks", *where), tmp_path / "printed"
    with printing(printed, (*logs, "-f")) as following:
        begun = {f"[talks-worker-{index}] begins 1" for index in (0, 1)}
        wait_until(
            lambda: begun <= {*printed.read_text().splitlines()},
            timeout_seconds=PATIENCE_SECONDS,
            what="both workers are heard",
        )
        cluster.crash(first.pods[0])
        scene.until(job, reason="Completed")
        assert following.wait(PATIENCE_SECONDS) == 0
    lines = printed.read_text().splitlines()
    for index in (0, 1):
        pod = f"[talks-worker-{index}]"
        mine = [line for line in lines if line.startswith(pod)]
        said = [f"{pod} line {number}" for number in range(LINES)]
        assert mine == [f"{pod} begins 1", f"{pod} begins 2", *said]
    last = [f"[talks-worker-{index}] line {LINES - 1}" for index in (0, 1)]
    assert run(*logs, "--tail", "1").splitlines() == last
