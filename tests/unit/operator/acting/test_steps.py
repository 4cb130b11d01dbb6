from dataclasses import replace
from datetime import timedelta

from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Refusal, Step, Turn
from plimsoll.acting.steps import REPORT_INTERVAL, Steps
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Hold
from plimsoll.planning.disruption.backoff import ABLE_TO_SCALE, REFUSAL_PAUSE, refusal_pause
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, NOW, at, pods_of, seen
from support.objects.job_manifests import (
    a_gpu_pod,
    a_priority_class,
    a_training_job,
    an_inference_job,
)

NODE = fake_node("node", gpus=4)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def a_turn(
    *manifests: Manifest,
    after: timedelta = timedelta(0),
    decided: Action | None = None,
    refused: dict[str, str] | None = None,
) -> Turn:
    snapshot = seen(*manifests, now=NOW + after)
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    said = {uid: Refusal(message) for uid, message in (refused or {}).items()}
    return Turn(snapshot, Occupancy(snapshot), decided=actions, refused=said)


def names(steps: list[Step]) -> list[str]:
    return [step.job.resource.metadata.name for step in steps]


def written(step: Step, job: Manifest) -> Manifest:
    """The job once the step is done."""
    return {**job, "status": step.status.wire()}


def hold(message: str, reason: Reason = Reason.INSUFFICIENT_GPUS) -> Hold:
    return Hold(JobName(f"TrainingJob/{NAMESPACE}/train"), reason, message)


def test_a_job_that_waits_for_room_is_looked_at_again_though_it_has_not_changed() -> None:
    job, other = at(a_training_job("train", gpus=4), "node"), a_gpu_pod("other", "node", gpus=1)
    steps = Steps()
    (step,) = steps.of(a_turn(NODE, job, other), set())
    job = written(step, job)
    for _ in range(2):
        waiting = list(steps.of(a_turn(NODE, job, other), set()))
        assert not any(step.has_writes for step in waiting)
    (step,) = steps.of(a_turn(NODE, job), set())
    assert len(step.create) == 1


def test_a_service_that_waits_for_room_is_looked_at_again_though_it_has_not_changed() -> None:
    job, other = at(an_inference_job("serve", gpus=4), "node"), a_gpu_pod("other", "node", gpus=1)
    steps = Steps()
    (step,) = steps.of(a_turn(NODE, job, other), set())
    job = written(step, job)
    list(steps.of(a_turn(NODE, job, other), set()))
    (step,) = steps.of(a_turn(NODE, job), set())
    assert len(step.create) == 1


def test_a_job_is_told_once_what_it_was_told_no_longer_holds() -> None:
    job, steps = at(a_training_job("train"), "node"), Steps()
    pods = pods_of(job)
    name = JobName(f"TrainingJob/{NAMESPACE}/train")
    for _ in range(3):
        turn = replace(a_turn(NODE, job, *pods), capped={name: "its node is limited to 300 W"})
        for step in steps.of(turn, set()):
            job = written(step, job)
    turn = a_turn(NODE, job, *pods)
    limited = replace(turn, capped={name: "its node is limited to 300 W"})
    assert list(steps.of(limited, set())) == []
    (step,) = steps.of(replace(limited, capped={}), set())
    capped = condition(step.status.conditions, "PowerCapped")
    assert capped is None or capped.status == "False"


def test_of_a_job_whose_last_step_is_not_done_there_is_no_other() -> None:
    job = at(a_training_job("train"), "node")
    assert not list(Steps().of(a_turn(NODE, job), {"uid-TrainingJob-train"}))


def test_a_job_that_is_being_deleted_is_let_go() -> None:
    job = at(a_training_job("train"), "node")
    job["metadata"] = {"name": "train", "deletionTimestamp": NOW.isoformat(), "finalizers": ["x"]}
    assert not list(Steps().of(a_turn(NODE, job), set()))


def test_what_is_free_goes_to_the_most_important_and_then_to_the_oldest() -> None:
    older, newer = (at(a_training_job(name, gpus=4), "node") for name in ("older", "newer"))
    urgent = at(a_training_job("urgent", gpus=4, priorityClassName="urgent"), "node")
    high = a_priority_class("urgent", 10)
    found = list(Steps().of(a_turn(NODE, high, older, newer, urgent), set()))
    assert names([step for step in found if step.create]) == ["urgent"]
    found = list(Steps().of(a_turn(NODE, newer, older), set()))
    assert names([step for step in found if step.create]) == ["newer"], "it was made first here"


def test_a_job_whose_pods_are_refused_gives_up_its_place_and_says_why() -> None:
    job = at(a_training_job("train"), "node")
    refused = {"uid-TrainingJob-train": "exceeded quota"}
    (step,) = Steps().of(a_turn(NODE, job, refused=refused), set())
    again = "tried again at 12:01:00 UTC, or when the spec changes"
    assert (step.status.reason, step.status.message) == ("PodRefused", f"exceeded quota; {again}")
    assert [event.message for event in step.events] == ["exceeded quota"]
    assert step.status.placement is None
    assert not step.create


def test_with_each_refusal_in_a_row_the_pause_is_twice_as_long() -> None:
    job, pauses = at(a_training_job("train"), "node"), list[timedelta | None]()
    for _ in range(7):
        place = job["status"]["placement"]
        (step,) = Steps().of(a_turn(NODE, job, refused={"uid-TrainingJob-train": "no"}), set())
        pauses.append(refusal_pause(step.status, step.status.reason, None))
        job = written(step, job)
        job["status"]["placement"] = place
    assert pauses == [MINUTE * minutes for minutes in (1, 2, 4, 8, 16, 30, 30)]
    changed = {**job, "metadata": {**job["metadata"], "generation": 2}}
    (step,) = Steps().of(a_turn(NODE, changed, refused={"uid-TrainingJob-train": "no"}), set())
    assert step.status.refusals == 1, "the pods of this spec are refused for the first time"
    pods = pods_of(job)
    (step,) = Steps().of(a_turn(NODE, job, *pods), set())
    assert (step.status.reason, step.status.refusals) == ("Running", 0)


def test_what_fails_in_the_api_server_makes_no_pause_longer() -> None:
    job = at(a_training_job("train"), "node", refusals=2)
    turn = a_turn(NODE, job)
    failed = {"uid-TrainingJob-train": Refusal("failed calling webhook", fails=True)}
    (step,) = Steps().of(replace(turn, refused=failed), set())
    assert (step.status.reason, step.status.refusals) == ("PodRefused", 2)


def a_service_of_three() -> tuple[Manifest, list[Manifest]]:
    """A service with three places, and the pods of two of them."""
    job = at(an_inference_job("serve", replicas=3), "node", "node", "node")
    (step,) = Steps().of(a_turn(NODE, job), set())
    job = written(step, job)
    return job, pods_of(job)[:2]


def refused(job: Manifest, *pods: Manifest) -> Step:
    said = {"uid-InferenceJob-serve": "exceeded quota"}
    (step,) = Steps().of(a_turn(NODE, job, *pods, refused=said), set())
    return step


def replicas(step: Step) -> list[int]:
    assert isinstance(step.status, InferenceJobStatus)
    places = step.status.placement.assignments if step.status.placement else ()
    return [place.replica for place in places]


def test_replicas_that_run_stay_when_another_is_refused() -> None:
    job, pods = a_service_of_three()
    step = refused(job, *pods)
    assert replicas(step) == [0, 1]
    assert not step.delete
    assert [(event.reason, event.warning) for event in step.events] == [(Reason.POD_REFUSED, True)]


def test_a_service_none_of_whose_replicas_has_its_pods_gives_up_its_place() -> None:
    job, _ = a_service_of_three()
    step = refused(job)
    assert (replicas(step), step.status.reason) == ([], "PodRefused")


def test_a_service_is_not_left_with_a_role_that_has_no_replica() -> None:
    job, pods = a_service_of_three()
    [role] = job["spec"]["roles"]
    job["spec"]["roles"] = [role, {**role, "name": "decode"}]
    job["status"]["placement"]["assignments"][2] |= {"role": "decode"}
    assert replicas(refused(job, *pods)) == []


def test_what_was_refused_is_reported_once_and_among_what_is_missing() -> None:
    job, pods = a_service_of_three()
    job = written(refused(job, *pods), job)
    assert not refused(job, *pods).events
    (step,) = Steps().of(a_turn(NODE, job, *pods, after=SECOND), set())
    assert "2 of 3 replicas are ready; one more is refused: exceeded quota" in step.status.message
    assert step.again_at is not None
    assert step.again_at > NOW + REFUSAL_PAUSE


def test_a_refusal_is_over_once_all_replicas_are_ready() -> None:
    job, pods = a_service_of_three()
    third = pods_of(job)[2]
    job = written(refused(job, *pods), job)
    kept = job["status"]["placement"]["assignments"]
    kept.append({**kept[0], "replica": 2})
    later = 2 * REFUSAL_PAUSE
    (step,) = Steps().of(a_turn(NODE, job, *pods, third, after=later), set())
    job = written(step, job)
    assert condition(step.status.conditions, ABLE_TO_SCALE) is not None
    (step,) = Steps().of(a_turn(NODE, job, *pods, third, after=later + SECOND), set())
    assert condition(step.status.conditions, ABLE_TO_SCALE) is None
    assert step.status.refusals == 0


def test_no_replica_is_renewed_where_its_new_pod_would_be_refused() -> None:
    job, pods = a_service_of_three()
    job = written(refused(job, *pods), job)
    old = [pod["metadata"]["labels"] | {"plimsoll.dev/template-hash": "old"} for pod in pods]
    for pod, labels in zip(pods, old, strict=True):
        pod["metadata"]["labels"] = labels
    for after in (SECOND, 2 * REFUSAL_PAUSE):
        (step,) = Steps().of(a_turn(NODE, job, *pods, after=after), set())
        assert not step.delete


def test_that_a_job_waits_is_reported_at_once_and_then_only_when_it_is_news() -> None:
    job, steps = a_training_job("train"), Steps()
    (step,) = steps.of(a_turn(NODE, job, decided=hold("2 are free")), set())
    assert [event.message for event in step.events] == ["2 are free"]
    job = written(step, job)
    assert not list(steps.of(a_turn(NODE, job, decided=hold("2 are free")), set()))


def test_other_numbers_wait_a_while_and_another_reason_does_not() -> None:
    job, steps = a_training_job("train"), Steps()
    (step,) = steps.of(a_turn(NODE, job, decided=hold("2 are free")), set())
    job = written(step, job)
    soon = list(steps.of(a_turn(NODE, job, after=SECOND, decided=hold("3 are free")), set()))
    assert not any(step.has_writes for step in soon)
    other = hold("none may be used", Reason.QUEUE_LIMIT)
    (step,) = steps.of(a_turn(NODE, job, after=SECOND, decided=other), set())
    assert step.status.reason == "QueueLimit"
    (step,) = steps.of(
        a_turn(NODE, job, after=2 * REPORT_INTERVAL, decided=hold("3 are free")), set()
    )
    assert step.status.message == "3 are free"
    assert not step.events, "it is no event, for the reason is the same"


def test_when_to_look_again_is_said_though_there_was_something_to_report_just_before() -> None:
    soon = NOW + timedelta(seconds=5)
    job = at(a_training_job("train"), "node", nextRestartTime=soon.isoformat())
    steps = Steps()
    list(steps.of(a_turn(NODE, job, decided=hold("it waits")), set()))
    (step,) = steps.of(a_turn(NODE, job, after=SECOND), set())
    assert step.again_at == soon


def test_that_pods_were_refused_is_not_said_of_another_spec() -> None:
    job = at(a_training_job("train"), "node")
    steps = Steps()
    (step,) = steps.of(a_turn(NODE, job, refused={"uid-TrainingJob-train": "no quota"}), set())
    job = written(step, job)
    job["metadata"] = {**job["metadata"], "generation": 2}
    (step,) = steps.of(a_turn(NODE, job), set())
    assert step.status.observed_generation == 2
    refusal = condition(step.status.conditions, "Admitted")
    assert refusal is not None
    assert (refusal.reason, refusal.observed_generation) == (Reason.POD_REFUSED, 1)
