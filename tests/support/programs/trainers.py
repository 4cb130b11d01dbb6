"""Training programs that really run, in the place of pods' containers, which KWOK only plays."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import environment, name_of
from support.clusters.scene import SECONDS, Scene
from support.programs.training_program import STEP_SECONDS

PROGRAM = Path(__file__).with_name("training_program.py")


def pod_token(
    scene: Scene, pod: Manifest | None, *, audience: str = "plimsoll.dev", lifetime: int = 3600
) -> str:
    """A token of the namespace's service account, bound to the pod as kubelet would have it."""
    bound = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod)} if pod else None
    if pod and bound:
        bound["uid"] = pod["metadata"]["uid"]
    spec = {"audiences": [audience], "expirationSeconds": lifetime, "boundObjectRef": bound}
    path = f"/api/v1/namespaces/{scene.namespace}/serviceaccounts/default/token"
    return scene.api.create(path, {"spec": spec})["status"]["token"]


def worker_environment(scene: Scene, pod: Manifest, folder: Path) -> dict[str, str]:
    """What the program in a pod's container would find in its environment."""
    file = folder / f"{name_of(pod)}-{pod['metadata']['uid']}"
    file.write_text(pod_token(scene, pod))
    place = {"PLIMSOLL_WORKER_URL": scene.operator.worker_url, "PLIMSOLL_TOKEN_FILE": str(file)}
    return {**environment(pod), **place}


@dataclass(frozen=True, slots=True)
class Trainer:
    """The program of a gang's worker 0, the one that saves; the others have nothing to say.

    Unless one of the gang is slow: then all say how long they compute.
    """

    scene: Scene
    job: Manifest
    folder: Path
    program: Path = PROGRAM

    @contextmanager
    def training(self, *, slow: int | None = None) -> Generator[tuple[Manifest, ...]]:
        """Train with the gang that runs now; its pods. It must be gone at the end, by notice.

        The worker `slow` computes for a whole step, and all others for a third of it.
        """
        pods = self.scene.running(self.job).pods
        talking = pods[:1] if slow is None else pods
        processes = [
            self._begun(pod, rank, STEP_SECONDS if rank == slow else STEP_SECONDS / 3)
            for rank, pod in enumerate(talking)
        ]
        try:
            done = self.steps_done
            self._until_reported(done + 1)
            yield pods
            self._until_gone(pods)
        finally:
            for process in processes:
                process.terminate()
                process.wait(timeout=SECONDS)

    def _begun(
        self, pod: Manifest, rank: int, computes_seconds: float
    ) -> "subprocess.Popen[bytes]":
        folder = self.folder if rank == 0 else self.folder / f"worker-{rank}"
        folder.mkdir(exist_ok=True)
        here = worker_environment(self.scene, pod, self.folder)
        command = [sys.executable, str(self.program), str(folder), str(computes_seconds)]
        imports = {"PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(command, env={**os.environ, **imports, **here})

    @property
    def steps_done(self) -> int:
        """How many steps were done, those that were done twice included."""
        file = self.folder / "steps"
        return len(file.read_text().splitlines()) if file.exists() else 0

    @property
    def steps_done_twice(self) -> int:
        """How many steps were lost, and done again."""
        lines = (self.folder / "steps").read_text().splitlines()
        return len(lines) - len({line.split()[1] for line in lines})

    def _until_reported(self, steps: int) -> None:
        """Wait until the operator knows that the gang trains: what is done is in the status."""

        def is_reported() -> bool:
            progress = self.scene.status(self.job).get("progress", {})
            return self.steps_done >= steps and "done" in progress and self._is_heard()

        wait_until(is_reported, timeout_seconds=SECONDS, what="the worker is heard of")

    def _is_heard(self) -> bool:
        return self.scene.operator.metric("plimsoll_reporting_workers") >= 1

    def _until_gone(self, pods: tuple[Manifest, ...]) -> None:
        was = {pod["metadata"]["uid"] for pod in pods}
        wait_until(
            lambda: not was & {p["metadata"]["uid"] for p in self.scene.pods_of(self.job)},
            timeout_seconds=SECONDS,
            what="the gang has gone",
        )
