"""What another tenant notices of what one does wrong: nothing, and its jobs get their places."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.waiting import PATIENCE, wait_until
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_training_job

PLACED_WITHIN_SECONDS = 5 * PATIENCE


@contextmanager
def unharmed(operator: OperatorProcess) -> Generator[None]:
    """Fail where the process has ended, or where a part or a turn of it has failed."""
    pid = operator.pid
    yield
    assert operator.is_running()
    assert operator.pid == pid
    assert operator.metric("plimsoll_loop_errors_total") == 0
    assert operator.metric("plimsoll_part_restarts_total") == 0
    assert operator.probe("/readyz") == (200, "ok")


def placed_in_time(scene: Scene, name: str) -> None:
    """Make a job of another tenant's, and see that it gets its place in time."""
    job = a_training_job(name)
    begun = time.monotonic()
    scene.apply(job)
    wait_until(
        lambda: scene.status(job).get("placement"), timeout_seconds=SECONDS, what="it is placed"
    )
    assert time.monotonic() - begun < PLACED_WITHIN_SECONDS
