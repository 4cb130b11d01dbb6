"""What another tenant notices of what one does wrong: nothing, and its jobs get their places.

By how much it is delayed is measured in bench/hostile_tenant.py.
"""

from collections.abc import Generator
from contextlib import contextmanager

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job


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


def placed_meanwhile(scene: Scene, name: str) -> Manifest:
    """Make a job of another tenant's, and see that it gets its place while the harm goes on."""
    job = a_training_job(name)
    scene.apply(job)
    wait_until(
        lambda: scene.status(job).get("placement"),
        timeout_seconds=scene.patience_seconds,
        what=f"{name} is placed",
    )
    return job
