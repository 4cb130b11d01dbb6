"""A job says what its GPUs draw, once for each time that it is measured."""

from decimal import Decimal
from typing import Any

from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.parts.role_power import RolePower
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import a_training_job

JOB = JobName("TrainingJob/team/t")
MEASURED = (
    RolePower(
        role="worker",
        expected_watts=500,
        measured_watts=620,
        percent=Decimal("130.00"),
        planned_percent=130,
        seconds=3600,
        observed_time=NOW,
    ),
)


def running(**status: Any) -> Snapshot:  # noqa: ANN401
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": NOW.isoformat()}
        for kind in ("Admitted", "Running")
    ]
    said: Manifest = {"reason": "Running", "conditions": conditions, **status}
    job: Manifest = at(a_training_job("t"), "n-1", **said)
    return seen(fake_node("n-1"), job, *pods_of(job))


def steps(known: Steps, snapshot: Snapshot, *, measured: bool) -> list[Step]:
    powers = {JOB: MEASURED} if measured else {}
    turn = Turn(snapshot, Occupancy(snapshot), powers=powers)
    return [step for step in known.of(turn, frozenset()) if step.has_writes]


def test_what_was_measured_is_written_once_to_the_job_and_no_event_reports_it() -> None:
    known, snapshot = Steps(), running()
    first = steps(known, snapshot, measured=False)
    settled = running(**first[0].status.wire()) if first else snapshot
    assert not steps(known, settled, measured=False)
    [step] = steps(known, settled, measured=True)
    assert step.status.power == MEASURED
    assert not step.events
    with_status = running(**step.status.wire())
    assert not steps(known, with_status, measured=True)
    assert not steps(known, with_status, measured=False)


def test_what_is_said_stays_while_nothing_is_measured() -> None:
    power = [each.wire() for each in MEASURED]
    for step in steps(Steps(), running(power=power), measured=False):
        assert step.status.power == MEASURED
