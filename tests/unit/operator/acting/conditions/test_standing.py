from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Admit, Hold, Preempt
from plimsoll.planning.cluster.pod_requests import WORKER
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName
from support.clusters.seen import NAMESPACE, an_admission, at, seen, with_pods
from support.objects.job_manifests import a_priority_class, a_queue, a_training_job

NODE = fake_node("node", gpus=4)
NAME = JobName(f"TrainingJob/{NAMESPACE}/train")
CLASSES = [a_priority_class("batch", 10), a_priority_class("urgent", 1000)]
STRICT = a_queue("team", priorityClassNames=["batch"])
OPEN = a_queue("team")
PLACE = Admit(
    NAME,
    (Assignment(WORKER, 0, GpuType(H100), (NodeName("node"),)),),
    Reason.ADMITTED,
    "placed",
)


def a_job(named: str = "batch") -> Manifest:
    return a_training_job("train", queue="team", priorityClassName=named)


def running(named: str = "batch") -> Manifest:
    """A job that was admitted as batch, and names this class now."""
    return at(a_job(named), "node", admission=an_admission("team", "batch", 10))


def stepped(job: Manifest, queue: Manifest, decided: Action | None = None) -> Step | None:
    found = with_pods([job]) if "status" in job and job["status"].get("placement") else [job]
    snapshot = seen(NODE, queue, *CLASSES, *found)
    actions: dict[str, Action] = {} if decided is None else {NAME: decided}
    return next(Steps().of(Turn(snapshot, Occupancy(snapshot), decided=actions), set()), None)


def once_done(step: Step | None, job: Manifest) -> Manifest:
    assert step is not None
    return {**job, "status": step.status.wire()}


def test_a_job_that_is_given_a_place_says_what_it_was_admitted_with() -> None:
    step = stepped(a_job(), STRICT, PLACE)
    assert step is not None
    assert step.status.admission is not None
    assert step.status.admission.wire() == an_admission("team", "batch", 10)


def test_it_says_so_anew_when_it_may_have_something_else() -> None:
    step = stepped(running("urgent"), OPEN)
    assert step is not None
    assert step.status.admission is not None
    assert step.status.admission.wire() == an_admission("team", "urgent", 1000)


def test_a_job_of_a_previous_version_says_it_as_soon_as_it_is_seen() -> None:
    step = stepped(at(a_job(), "node"), STRICT)
    assert step is not None
    assert step.status.admission is not None
    assert step.status.admission.priority == 10


def test_without_a_place_there_is_none() -> None:
    action = Preempt(NAME, Reason.PREEMPTED, "makes room")
    step = stepped(running(), STRICT, action)
    assert step is not None
    assert step.status.admission is None


def test_a_job_that_may_not_have_what_it_was_edited_to_says_so_once() -> None:
    job = running("urgent")
    step = stepped(job, STRICT)
    assert step is not None
    (event,) = [event for event in step.events if event.reason is Reason.PRIORITY_NOT_ALLOWED]
    assert event.warning
    assert event.message.endswith(
        "meanwhile it stays in queue team with priority 10, and does not grow"
    )
    found = condition(step.status.conditions, "Accepted")
    assert found is not None
    assert (found.status, found.reason) == ("False", "PriorityNotAllowed")
    assert (step.status.reason, step.status.message) == ("PriorityNotAllowed", found.message)
    assert step.status.admission is not None
    assert step.status.admission.priority == 10, "it was not admitted with what it asks for"
    again = stepped(once_done(step, job), STRICT)
    assert again is None or not again.events


def test_that_a_job_may_have_it_after_all_is_reported() -> None:
    job = running("urgent")
    once_reported = once_done(stepped(job, STRICT), job)
    step = stepped(once_reported, OPEN)
    assert step is not None
    found = condition(step.status.conditions, "Accepted")
    assert found is not None
    assert found.status == "True"


def test_a_new_worker_has_the_class_that_its_job_was_admitted_with() -> None:
    snapshot = seen(NODE, STRICT, *CLASSES, running("urgent"))
    step = next(Steps().of(Turn(snapshot, Occupancy(snapshot)), set()))
    assert [pod["spec"]["priorityClassName"] for pod in step.create] == ["batch"]


def test_a_job_that_waits_says_it_where_waiting_jobs_do() -> None:
    hold = Hold(NAME, Reason.PRIORITY_NOT_ALLOWED, "not allowed", inadmissible=True)
    step = stepped(a_job("urgent"), STRICT, hold)
    assert step is not None
    assert condition(step.status.conditions, "Accepted") is None
