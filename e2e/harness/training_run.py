"""A training job with real workers, and what these write down while they train."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.real_cluster import PATIENCE_SECONDS, SHARED
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.objects.job_manifests import a_training_job

STEPS = 300
SAVE_EVERY = 25
SAVE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the gang: at which step and size, and what was done and saved before it."""

    step: int
    workers: int
    done_before: int
    saved_before: int


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A job, and the folder that its workers share with us."""

    job: Manifest
    folder: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What rank 0 has written down so far."""
        file = self.folder / "log.jsonl"
        text = file.read_text() if file.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    @property
    def steps(self) -> list[int]:
        """The steps that were done, in the order in which they were."""
        return [line["step"] for line in self.lines if "step" in line]

    @property
    def losses(self) -> list[tuple[int, float]]:
        """The loss of each step that was done."""
        return [(line["step"], line["loss"]) for line in self.lines if "step" in line]

    @property
    def starts(self) -> list[Start]:
        """Each start of the gang."""
        found: list[Start] = []
        done = saved = 0
        for line in self.lines:
            if "started" in line:
                found.append(Start(line["started"], line["workers"], done, saved))
            done, saved = line.get("step", done), line.get("saved", saved)
        return found

    @property
    def parameters(self) -> list[float]:
        """The parameters at the end."""
        return json.loads((self.folder / "final.json").read_text())

    def goes_on(self, *, starts: int, steps: int = 10) -> Start:
        """Wait until the gang has started so often and done some steps since; the last start."""
        wait_until(
            lambda: len(self.starts) >= starts and self.steps_since_start() >= steps,
            timeout_seconds=PATIENCE_SECONDS,
            what=f"start {starts} of {self.job['metadata']['name']} has done {steps} steps",
        )
        assert len(self.starts) == starts, self.starts
        return self.starts[-1]

    def steps_since_start(self) -> int:
        """How many steps were done since the last start."""
        lines = self.lines
        last = max(place for place, line in enumerate(lines) if "started" in line)
        return sum("step" in line for line in lines[last:])


def a_training_run(
    name: str, *, workers: int, shared: Path, image: str, step_seconds: float
) -> TrainingRun:
    """A job that trains in a folder of its own."""
    folder = shared / name
    job = a_training_job(
        name,
        workers=workers,
        template={"spec": a_training_pod(folder, image=image, step_seconds=step_seconds)},
        work={"amount": STEPS, "unit": "steps"},
        checkpoint={"saveSeconds": SAVE_SECONDS, "restoreSeconds": 20},
        faultTolerance={"backoff": {"initial": "1s", "max": "1s"}},
    )
    return TrainingRun(job, folder)


def a_batch_training_run(
    name: str, *, workers: int, shared: Path, image: str, step_seconds: float
) -> TrainingRun:
    """An indexed batch/v1 Job whose pods find each other as torchrun users have them do it.

    It needs a headless Service of its name; see `a_service`.
    """
    folder = shared / name
    pod = a_training_pod(folder, image=image, step_seconds=step_seconds)
    (container,) = pod["containers"]
    container["resources"]["limits"] = {"nvidia.com/gpu": 1}
    container["command"] = [
        "torchrun",
        f"--nnodes={workers}",
        "--nproc-per-node=1",
        "--node-rank=$(JOB_COMPLETION_INDEX)",
        f"--master-addr={name}-0.{name}",
        "--master-port=29500",
        "/app/train.py",
    ]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"plimsoll.dev/queue": "default"}},
        "spec": {
            "parallelism": workers,
            "completions": workers,
            "completionMode": "Indexed",
            "template": {"spec": {**pod, "subdomain": name, "restartPolicy": "Never"}},
        },
    }
    return TrainingRun(job, folder)


def a_service(name: str) -> Manifest:
    """The headless Service through which a Job's pods find each other, ready or not."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": name},
        },
    }


def a_training_pod(folder: Path, *, image: str, step_seconds: float) -> Manifest:
    """The spec of a pod that trains in a folder, which is made."""
    folder.mkdir()
    variables = {
        "TRAIN_FOLDER": "/training",
        "TRAIN_STEPS": str(STEPS),
        "TRAIN_SAVE_EVERY": str(SAVE_EVERY),
        "TRAIN_STEP_SECONDS": str(step_seconds),
    }
    container = {
        **a_container(image),
        "env": [{"name": key, "value": value} for key, value in variables.items()],
        "volumeMounts": [{"name": "training", "mountPath": "/training"}],
    }
    where = {"path": f"{SHARED}/{folder.name}", "type": "Directory"}
    return {
        "containers": [container],
        "volumes": [{"name": "training", "hostPath": where}],
        # What they write is ours to read and delete.
        "securityContext": {"runAsUser": os.getuid(), "runAsGroup": os.getgid()},
    }


def an_example(name: str, *, workers: int, image: str, command: Sequence[str]) -> Manifest:
    """A job that runs a program of the examples, with checkpoints that go with its pods."""
    container = {
        **a_container(image),
        "command": list(command),
        "volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}],
    }
    volumes: list[Manifest] = [{"name": "checkpoints", "emptyDir": {}}]
    pod: Manifest = {"containers": [container], "volumes": volumes}
    return a_training_job(name, workers=workers, template={"spec": pod})


def a_container(image: str) -> Manifest:
    """A container that runs what its image is for."""
    return {
        "name": "train",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
    }
