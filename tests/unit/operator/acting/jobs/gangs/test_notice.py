"""Before a gang is disturbed its workers may save: who is notified, and how long we wait."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.acting.jobs.gangs.training import training_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.parts.progress import Notice
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Hold, Migrate, Preempt, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, a_report, at, pods_of, seen
from support.objects.job_manifests import a_power_domain, a_training_job

NAME = JobName(f"TrainingJob/{NAMESPACE}/train")
NODE, OTHER = fake_node("node", gpus=4), fake_node("other", gpus=4)
JOB = at(a_training_job("train", workers=(1, 4), checkpoint={"saveSeconds": 20}), "node", "node")
PODS = pods_of(JOB)
HEARD = tuple(a_report(pod) for pod in PODS)
DEADLINE = NOW + timedelta(seconds=20 + 15)
NOTICE = Notice(
    id="revision-1",
    reason="Preempted",
    sent_time=NOW,
    deadline=DEADLINE,
    revision=1,
    workers=(0, 1),
)
PREEMPT = Preempt(NAME, Reason.PREEMPTED, "makes room")


def assignments(*nodes: str) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(RoleName("worker"), replica, GpuType(H100), (NodeName(node),))
        for replica, node in enumerate(nodes)
    )


def stepped(
    *manifests: Manifest,
    decided: Action | None = None,
    reports: tuple[WorkerReport, ...] = HEARD,
    now: datetime = NOW,
    nodes: tuple[Manifest, ...] = (NODE, OTHER),
) -> Step:
    """What becomes of the job in one turn."""
    snapshot = seen(*nodes, *manifests, reports=reports, now=now)
    (view,) = snapshot.jobs
    assert view.training is not None
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    return training_step(view, view.training, Turn(snapshot, Occupancy(snapshot), decided=actions))


def status_of(step: Step) -> TrainingJobStatus:
    assert isinstance(step.status, TrainingJobStatus)
    return step.status


def after(step: Step) -> Manifest:
    """The job as it is in the API server after a step."""
    return {**JOB, "status": step.status.model_dump(mode="json", by_alias=True)}


def gone(step: Step) -> list[str]:
    return [pod.name for pod in step.delete]


def saved(pod: Manifest, **said: Any) -> WorkerReport:  # noqa: ANN401 - fields of a report
    return a_report(pod, acknowledged=NOTICE.id, **said)


@pytest.mark.parametrize(
    "decided",
    [
        PREEMPT,
        Migrate(NAME, assignments("other", "other"), Reason.MIGRATED, "moves"),
        Resize(NAME, assignments("node"), Reason.RESIZED, "shrinks"),
        Hold(NAME, Reason.QUEUE_NOT_FOUND, "waits"),
    ],
    ids=lambda action: type(action).__name__,
)
def test_listeners_are_notified_before_anything_is_deleted(decided: Action) -> None:
    step = stepped(JOB, *PODS, decided=decided)
    notice = status_of(step).notice
    assert notice is not None
    assert (notice.id, notice.deadline, notice.workers) == (NOTICE.id, DEADLINE, (0, 1))
    assert (notice.reason, notice.message) == (decided.reason, decided.message)
    assert gone(step) == []
    assert step.create == ()
    assert step.again_at == DEADLINE
    assert Reason.SAVING in [event.reason for event in step.events]


def test_a_job_that_is_suspended_saves_first() -> None:
    asleep = {**JOB, "spec": {**JOB["spec"], "suspend": True}}
    step = stepped(asleep, *PODS)
    assert status_of(step).placement is None
    assert gone(step) == []
    kept = {**after(step), "spec": asleep["spec"]}
    assert gone(stepped(kept, *PODS)) == []
    assert len(gone(stepped(kept, *PODS, now=DEADLINE))) == 2


def test_who_never_reported_is_not_waited_for() -> None:
    step = stepped(JOB, *PODS, decided=PREEMPT, reports=())
    assert status_of(step).notice is None
    assert len(gone(step)) == 2


def test_a_gang_on_a_broken_node_is_not_waited_for() -> None:
    broken = fake_node("node", gpus=4)
    broken["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    step = stepped(JOB, *PODS, decided=PREEMPT, nodes=(broken, OTHER))
    assert len(gone(step)) == 2


def test_a_gang_that_lost_a_worker_is_not_waited_for() -> None:
    dead = {**PODS[1], "status": {"phase": "Failed"}}
    assert len(gone(stepped(JOB, PODS[0], dead, decided=PREEMPT))) == 2


class TestOnceItIsSent:
    """The job has given up its place, and its gang has the notice."""

    job = after(stepped(JOB, *PODS, decided=PREEMPT))

    def test_nothing_is_deleted_while_one_still_saves(self) -> None:
        step = stepped(self.job, *PODS, reports=(saved(PODS[0]), HEARD[1]))
        assert (gone(step), step.again_at) == ([], DEADLINE)

    def test_all_go_once_all_have_saved(self) -> None:
        step = stepped(self.job, *PODS, reports=tuple(map(saved, PODS)))
        assert len(gone(step)) == 2

    def test_who_has_ended_needs_not_say_so(self) -> None:
        ended = {**PODS[1], "status": {"phase": "Succeeded"}}
        assert len(gone(stepped(self.job, PODS[0], ended, reports=(saved(PODS[0]),)))) == 2

    def test_who_does_not_answer_is_stopped_at_the_deadline(self) -> None:
        assert gone(stepped(self.job, *PODS, now=DEADLINE - timedelta(seconds=1))) == []
        assert len(gone(stepped(self.job, *PODS, now=DEADLINE))) == 2

    def test_an_operator_that_has_heard_nobody_yet_waits(self) -> None:
        assert gone(stepped(self.job, *PODS, reports=())) == []

    def test_what_an_old_notice_was_heeded_for_does_not_count(self) -> None:
        old = tuple(replace(report, acknowledged="revision-0") for report in HEARD)
        assert gone(stepped(self.job, *PODS, reports=old)) == []

    def test_what_they_saved_is_written_at_once(self) -> None:
        said = {"done": Decimal(70), "saved": Decimal(70), "saved_at": NOW}
        step = stepped(self.job, *PODS, reports=tuple(saved(pod, **said) for pod in PODS))
        progress = status_of(step).progress
        assert progress is not None
        assert progress.saved_done == 70

    def test_a_new_place_does_not_hurry_it_nor_give_it_more_time(self) -> None:
        place = Resize(NAME, assignments("other"), Reason.RESIZED, "again")
        step = stepped(self.job, *PODS, decided=place, now=NOW + timedelta(seconds=9))
        notice = status_of(step).notice
        assert notice is not None
        assert (gone(step), notice.deadline) == ([], DEADLINE)

    def test_the_new_gang_starts_without_it(self) -> None:
        moved = after(
            stepped(
                JOB,
                *PODS,
                decided=Migrate(NAME, assignments("other", "other"), Reason.MIGRATED, "moves"),
            )
        )
        step = stepped(moved, reports=())
        assert status_of(step).notice is None
        assert len(step.create) == 2

    def test_it_is_over_when_the_gang_has_gone(self) -> None:
        assert status_of(stepped(self.job, reports=())).notice is None


def test_only_those_who_listened_are_waited_for() -> None:
    """Where just worker 0 saves, just that one reports."""
    job = after(stepped(JOB, *PODS, decided=PREEMPT, reports=HEARD[:1]))
    assert gone(stepped(job, *PODS, reports=HEARD[:1])) == []
    assert len(gone(stepped(job, *PODS, reports=(saved(PODS[0]),)))) == 2


POWER_PREEMPT = replace(PREEMPT, reason=Reason.EVICTED, power_domain="row-a")


def overdrawn(since: datetime | None, *, is_over: bool = True) -> Manifest:
    """A power domain, which has said since when it draws too much, or not too much, if it has."""
    domain = a_power_domain("row-a", {"row": "a"}, budget_watts=1500, overshootLimit="20s")
    if since is None:
        return domain
    within = {"type": "WithinBudget", "status": str(not is_over), "reason": "PowerBudget"}
    condition = {**within, "lastTransitionTime": since.isoformat()}
    return {**domain, "status": {"conditions": [condition], "observedGeneration": 1}}


@pytest.mark.parametrize(
    ("domain", "seconds"),
    [
        (overdrawn(NOW - timedelta(seconds=8)), 12),
        (overdrawn(None), 20),
        (overdrawn(NOW - timedelta(hours=1), is_over=False), 35),
    ],
    ids=["has drawn too much for 8 s", "was just lowered", "caps keep it within"],
)
def test_a_notice_for_power_ends_when_the_domain_may_draw_too_much_no_longer(
    domain: Manifest, seconds: int
) -> None:
    step = stepped(JOB, *PODS, domain, decided=POWER_PREEMPT)
    notice = status_of(step).notice
    assert notice is not None
    assert (gone(step), notice.deadline) == ([], NOW + timedelta(seconds=seconds))


def test_there_is_no_time_to_save_once_a_domain_has_drawn_too_much_for_too_long() -> None:
    step = stepped(JOB, *PODS, overdrawn(NOW - timedelta(seconds=20)), decided=POWER_PREEMPT)
    assert len(gone(step)) == 2


def test_who_goes_for_another_reason_has_the_usual_time_whatever_is_drawn() -> None:
    step = stepped(JOB, *PODS, overdrawn(NOW - timedelta(seconds=8)), decided=PREEMPT)
    notice = status_of(step).notice
    assert notice is not None
    assert notice.deadline == DEADLINE


def heeds(step: Step) -> bool | None:
    """What the status says of how the workers took their notice."""
    progress = status_of(step).progress
    assert progress is not None
    return progress.saves_on_notice


def test_whether_workers_saved_for_their_notice_is_remembered() -> None:
    done = tuple(a_report(pod, done=Decimal(7)) for pod in PODS)
    asked = stepped(JOB, *PODS, decided=PREEMPT, reports=done)
    assert heeds(asked) is None
    job = after(asked)
    one = (saved(PODS[0], done=Decimal(7)), done[1])
    assert heeds(stepped(job, *PODS, reports=one)) is None, "the other one still saves"
    assert heeds(stepped(job, *PODS, reports=one, now=DEADLINE)) is False
    both = tuple(saved(pod, done=Decimal(7)) for pod in PODS)
    assert heeds(stepped(job, *PODS, reports=both)) is True


def test_a_notice_without_time_shows_nothing() -> None:
    at_once = NOTICE.model_copy(update={"deadline": NOW})
    done = tuple(a_report(pod, done=Decimal(7)) for pod in PODS)
    status = {**JOB["status"], "notice": at_once.wire(), "placement": None}
    job = {**JOB, "status": {**status, "progress": {"done": 7}}}
    assert heeds(stepped(job, *PODS, reports=done)) is None


def test_what_was_saved_counts_though_workers_go_one_after_the_other() -> None:
    done = tuple(a_report(pod, done=Decimal(7)) for pod in PODS)
    job = after(stepped(JOB, *PODS, decided=PREEMPT, reports=done))
    both = tuple(saved(pod, done=Decimal(7)) for pod in PODS)
    step = stepped(job, *PODS, reports=both, now=NOW + timedelta(seconds=5))
    assert heeds(step) is True
    late = DEADLINE + timedelta(seconds=1)
    assert heeds(stepped(after(step), PODS[1], reports=both[1:], now=late)) is True
    assert heeds(stepped(after(step), *PODS, reports=(), now=late)) is True, "after a restart"
