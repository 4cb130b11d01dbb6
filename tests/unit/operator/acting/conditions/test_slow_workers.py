from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from prometheus_client import REGISTRY

from plimsoll.acting.metrics.counting import count
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.parts.conditions import condition
from plimsoll.api.parts.stragglers import SlowWorker
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Migrate, Preempt
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, a_report, at, pods_of, seen
from support.objects.job_manifests import a_policy, a_training_job

NAME = JobName(f"TrainingJob/{NAMESPACE}/gang")
NODES = [fake_node(f"n-{index}", gpus=1) for index in range(4)]
STARTED = (NOW - timedelta(hours=1)).isoformat()
GANG = at(a_training_job("gang", workers=3), "n-0", "n-1", "n-2", startedTime=STARTED)
MINUTE = timedelta(minutes=1)
AFTER = 5 * MINUTE
EQUAL = (0.25, 0.25, 0.25)
ONE_SLOW = (0.25, 0.5, 0.25)


def turned(  # noqa: PLR0913 - one keyword for each thing that a test may be about
    job: Manifest,
    seconds: Sequence[float | None],
    now: datetime = NOW,
    *,
    decided: Action | None = None,
    also: Iterable[Manifest] = (),
    phase: str = "Running",
) -> Step | None:
    """What is written in a turn in which the workers say how long each computes; None: nothing."""
    pods = pods_of(job, phase=phase)
    reports = [
        a_report(pod, at=now, compute_seconds=each, step_seconds=0.5)
        for pod, each in zip(pods, seconds, strict=True)
        if each is not None
    ]
    snapshot = seen(*NODES, job, *pods, *also, now=now, reports=reports)
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    turn = Turn(snapshot, Occupancy(snapshot), decided=actions)
    found = [step for step in Steps().of(turn, set()) if step.has_writes]
    return found[0] if found else None


def status_of(step: Step | None) -> TrainingJobStatus:
    assert step is not None
    assert isinstance(step.status, TrainingJobStatus)
    return step.status


def after(job: Manifest, step: Step | None) -> Manifest:
    """The job as a step has written it."""
    return {**job, "status": status_of(step).wire()}


def slow_of(job: Manifest) -> tuple[SlowWorker, ...]:
    return TrainingJobStatus.model_validate(job["status"]).slow_workers


def watched(job: Manifest = GANG, now: datetime = NOW) -> Manifest:
    """The job with a worker that has been slow since then."""
    return after(job, turned(job, ONE_SLOW, now))


def found(job: Manifest = GANG) -> tuple[Manifest, Step]:
    """The job with a straggler, and what was written when it was found."""
    step = turned(watched(job), ONE_SLOW, NOW + AFTER)
    assert step is not None
    return after(job, step), step


def assignments(*nodes: str) -> tuple[Assignment, ...]:
    role, kind = RoleName("worker"), GpuType(H100)
    return tuple(Assignment(role, i, kind, (NodeName(n),)) for i, n in enumerate(nodes))


def moved(job: Manifest) -> Manifest:
    """The job once its gang is moved off the straggler's node."""
    why = Migrate(NAME, assignments("n-0", "n-3", "n-2"), Reason.STRAGGLER_REPLACED, "slow: moved")
    return after(job, turned(job, ONE_SLOW, NOW + AFTER, decided=why))


def test_a_slow_worker_is_watched_before_anything_is_said() -> None:
    step = turned(GANG, ONE_SLOW)
    [slow] = status_of(step).slow_workers
    assert (slow.replica, slow.node, slow.since) == (1, "n-1", NOW)
    assert (float(slow.compute_seconds), float(slow.gang_seconds)) == (0.5, 0.25)
    assert (slow.lost_percent, slow.found_time) == (50, None)
    assert step is not None
    assert (step.events, status_of(step).conditions) == ((), ())


def test_it_is_reported_once_it_has_been_slow_for_minutes() -> None:
    almost = turned(watched(), ONE_SLOW, NOW + AFTER - timedelta(seconds=1))
    assert almost is None
    job, step = found()
    [event] = step.events
    assert (event.reason, event.warning) == (Reason.STRAGGLER_FOUND, True)
    assert [pod.name for pod in event.pods] == ["gang-worker-1"]
    assert event.message == (
        "worker 1 on n-1 computes 0.5 s per step, 100 % longer than the median of its gang,"
        " 0.25 s; that costs the gang 50 % of its time"
    )
    degraded = condition(status_of(step).conditions, "Degraded")
    assert degraded is not None
    assert (degraded.status, degraded.reason) == ("True", "StragglerFound")
    assert turned(job, ONE_SLOW, NOW + AFTER + MINUTE) is None, "and only once"


def test_one_good_report_in_between_begins_it_anew() -> None:
    recovered = turned(watched(), EQUAL, NOW + MINUTE)
    assert status_of(recovered).slow_workers == ()
    again = watched(after(GANG, recovered), NOW + 2 * MINUTE)
    assert slow_of(again)[0].since == NOW + 2 * MINUTE
    assert turned(again, ONE_SLOW, NOW + AFTER) is None


def test_a_gang_of_equal_workers_has_nothing_written_of_it() -> None:
    assert turned(GANG, EQUAL) is None
    assert turned(GANG, (None, None, None)) is None


def test_it_is_taken_back_when_the_worker_is_as_fast_as_the_others() -> None:
    job, _ = found()
    step = turned(job, EQUAL, NOW + 2 * AFTER)
    degraded = condition(status_of(step).conditions, "Degraded")
    assert degraded is not None
    assert (degraded.status, status_of(step).slow_workers) == ("False", ())


def test_an_operator_that_starts_anew_goes_on_from_the_status() -> None:
    job = watched()
    assert turned(job, (None, None, None), NOW + MINUTE) is None
    assert turned(job, (0.25, None, 0.25), NOW + MINUTE) is None
    [slow] = status_of(turned(job, ONE_SLOW, NOW + AFTER)).slow_workers
    assert (slow.since, slow.found_time) == (NOW, NOW + AFTER)


def test_the_policy_says_for_how_long_and_whether_at_all() -> None:
    at_once = a_policy(stragglers={"after": "30s"})
    step = turned(watched(), ONE_SLOW, NOW + MINUTE, also=[at_once])
    assert [event.reason for event in (step.events if step else ())] == [Reason.STRAGGLER_FOUND]
    assert turned(GANG, ONE_SLOW, also=[a_policy(stragglers={"slowerPercent": 0})]) is None
    assert turned(GANG, ONE_SLOW, also=[a_policy(stragglers={"slowerPercent": 150})]) is None


def test_a_straggler_speaks_against_its_node_as_a_failure_does() -> None:
    _, step = found()
    [failure] = status_of(step).failures
    assert (failure.node, failure.time) == ("n-1", NOW + AFTER)
    assert failure.message.startswith("was slow: worker 1 on n-1 computes 0.5 s")
    assert status_of(step).restarts == 0


def test_when_the_gang_is_moved_the_node_is_kept_in_mind() -> None:
    status = TrainingJobStatus.model_validate(moved(found()[0])["status"])
    [gone] = status.replaced_workers
    assert (gone.replica, gone.workers, gone.node) == (1, 3, "n-1")
    assert (gone.time, gone.until) == (NOW + AFTER, NOW + AFTER + timedelta(hours=6))
    assert len(status.disruption_times) == 1, "it counts as a disruption"
    degraded = condition(status.conditions, "Degraded")
    assert degraded is not None
    assert (degraded.status, degraded.reason) == ("False", "StragglerReplaced")
    assert status.slow_workers == ()
    assert status.notice is not None, "its workers may save first"


def test_the_same_worker_on_another_node_is_not_the_nodes_fault() -> None:
    again = moved(found()[0])
    status = {**again["status"], "startedTime": STARTED}
    status.pop("notice")
    _, step = found({**again, "status": status})
    assert step.events[0].message.endswith(
        "; it was also slow on n-1, so it has more work than the others"
    )
    assert [failure.node for failure in status_of(step).failures] == ["n-1"]


def test_a_gang_that_loses_its_place_has_no_straggler_any_more() -> None:
    job, _ = found()
    gone = Preempt(NAME, Reason.PREEMPTED, "makes room")
    status = status_of(turned(job, ONE_SLOW, NOW + AFTER + MINUTE, decided=gone))
    assert (status.slow_workers, status.replaced_workers) == ((), ())
    degraded = condition(status.conditions, "Degraded")
    assert degraded is not None
    assert degraded.status == "False"


def test_a_job_that_is_done_is_not_degraded() -> None:
    job, _ = found()
    step = turned(job, ONE_SLOW, NOW + AFTER + MINUTE, phase="Succeeded")
    kinds = {each.type: each.status for each in status_of(step).conditions}
    assert (kinds["Complete"], kinds["Degraded"]) == ("True", "False")
    assert turned(after(job, step), ONE_SLOW, NOW + 2 * AFTER, phase="Succeeded") is None


def test_what_is_found_and_replaced_is_counted() -> None:
    def counted(result: str) -> float:
        return REGISTRY.get_sample_value("plimsoll_stragglers_total", {"result": result}) or 0.0

    before = counted("Found"), counted("Replaced")
    job, step = found()
    count(step, seen())
    why = Migrate(NAME, assignments("n-0", "n-3", "n-2"), Reason.STRAGGLER_REPLACED, "slow: moved")
    move = turned(job, ONE_SLOW, NOW + AFTER, decided=why)
    assert move is not None
    count(move, seen())
    assert (counted("Found"), counted("Replaced")) == (before[0] + 1, before[1] + 1)
