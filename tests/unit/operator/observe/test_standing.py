import pytest

from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import JobView
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, an_admission, at, objects_of, seen
from support.objects.job_manifests import (
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

NODE = fake_node("node", gpus=8)
CLASSES = [a_priority_class("batch", 10), a_priority_class("urgent", 1000)]
TEAM = a_queue("team", priorityClassNames=["batch"])
OTHERS = a_queue("others", namespaceSelector={"matchLabels": {"team": "others"}})
AS_BATCH = an_admission("team", "batch", 10)


def stands(job: Manifest, *others: Manifest) -> JobView:
    (view,) = seen(NODE, TEAM, OTHERS, *CLASSES, job, *others).jobs
    return view


def a_gang(
    workers: int | tuple[int, int] = 4, *, queue: str = "team", named: str = "batch"
) -> Manifest:
    """A gang of 4 that was admitted to the team's queue as batch; it may have been edited since."""
    job = a_training_job("gang", workers=workers, queue=queue, priorityClassName=named)
    return at(job, *["node"] * 4, admission=AS_BATCH)


def in_force(view: JobView) -> tuple[str, str | None, int | None]:
    spec = view.resource.spec
    return spec.queue, spec.priority_class_name, view.priority


def test_what_a_job_may_have_is_in_force_at_once() -> None:
    both = a_queue("team", priorityClassNames=["batch", "urgent"])
    view = stands(a_gang(named="urgent"), both)
    assert view.refusal is None
    assert in_force(view) == ("team", "urgent", 1000)


@pytest.mark.parametrize(
    ("edited", "reason"),
    [
        (("team", "urgent"), Reason.PRIORITY_NOT_ALLOWED),
        (("team", "nonsense"), Reason.PRIORITY_CLASS_NOT_FOUND),
        (("others", "batch"), Reason.QUEUE_NOT_ALLOWED),
        (("nowhere", "batch"), Reason.QUEUE_NOT_FOUND),
    ],
)
def test_a_job_that_runs_keeps_what_it_was_admitted_with(
    edited: tuple[str, str], reason: Reason
) -> None:
    queue, named = edited
    view = stands(a_gang(queue=queue, named=named))
    assert view.refusal is not None
    assert view.refusal.reason is reason
    assert in_force(view) == ("team", "batch", 10)


def test_a_job_that_waits_has_nothing_to_keep() -> None:
    view = stands(a_training_job("gang", queue="team", priorityClassName="urgent"))
    assert view.refusal is not None
    assert in_force(view) == ("team", "urgent", 1000)


def test_a_job_whose_queue_was_closed_to_it_or_deleted_keeps_its_place_there() -> None:
    for closed in (a_queue("team", namespaceSelector={"matchLabels": {"a": "b"}}), OTHERS):
        (view,) = seen(NODE, closed, *CLASSES, a_gang()).jobs
        assert view.refusal is not None
        assert in_force(view) == ("team", "batch", 10)


def test_a_class_that_was_deleted_keeps_its_priority_and_is_named_by_no_new_pod() -> None:
    (view,) = seen(NODE, TEAM, a_gang()).jobs
    assert view.refusal is not None
    assert in_force(view) == ("team", None, 10)


def test_a_job_of_which_nobody_knows_with_what_it_was_admitted_has_the_plain_priority() -> None:
    job = at(a_training_job("old", queue="team", priorityClassName="urgent"), "node")
    assert in_force(stands(job)) == ("team", None, 0)
    closed = at(a_training_job("old", queue="others"), "node", admission=None)
    assert in_force(stands(closed)) == ("(none)", None, 0), "it has no share of others"
    usual = {**a_priority_class("usual", 5), "globalDefault": True}
    assert in_force(stands(job, usual)) == ("team", None, 5)


@pytest.mark.parametrize(
    ("asked", "counts"),
    [(8, (4,)), ((8, 16), (4,)), ((2, 8), (2, 3, 4)), (2, (2,)), ((4, 4), (4,))],
)
def test_a_gang_that_may_not_have_what_it_names_does_not_grow(
    asked: int | tuple[int, int], counts: tuple[int, ...]
) -> None:
    view = stands(a_gang(asked, named="urgent"))
    assert view.training is not None
    assert view.training.spec.workers.counts == counts
    may = stands(a_gang(asked)).training
    assert may is not None
    assert may.spec.workers.counts[-1] == (asked if isinstance(asked, int) else asked[1])


def test_a_gang_keeps_to_its_allowed_counts_where_one_is_no_larger() -> None:
    job = a_training_job(
        "gang", workers=(2, 8), allowed=(2, 6, 8), queue="team", priorityClassName="urgent"
    )
    view = stands(at(job, *["node"] * 4, admission=AS_BATCH))
    assert view.training is not None
    assert view.training.spec.workers.counts == (2,)


def test_a_service_that_may_not_have_what_it_names_does_not_grow() -> None:
    role = {"replicas": {"min": 3, "max": 6}}
    job = an_inference_job("serve", queue="team", priorityClassName="urgent", role=role)
    job["spec"]["replicas"] = 5
    view = stands(at(job, "node", "node", admission=AS_BATCH))
    assert view.inference is not None
    spec = view.inference.spec
    bounds = spec.roles[0].replicas
    assert (bounds.min, bounds.max, spec.replicas) == (2, 2, 2)


def test_a_job_that_is_over_says_nothing_of_what_it_may_not_have() -> None:
    job = a_gang(named="urgent")
    done = {"type": "Complete", "status": "True", "reason": "Completed"}
    job["status"]["conditions"] = [{**done, "lastTransitionTime": NOW.isoformat()}]
    (view,) = seen(NODE, TEAM, *CLASSES, job).jobs
    assert in_force(view) == ("team", "urgent", 1000)


def test_a_job_that_has_not_changed_is_not_worked_out_again() -> None:
    observer, objects = Observer(), objects_of(NODE, TEAM, *CLASSES, a_gang(queue="nowhere"))
    first, second = (observer.snapshot(objects, NOW).jobs[0] for _ in range(2))
    assert first is second


KUEUES = {
    "a label": a_template(labels={"kueue.x-k8s.io/queue-name": "team"}),
    "a gate": a_template(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]),
}


@pytest.mark.parametrize("template", KUEUES.values(), ids=KUEUES.keys())
def test_a_job_whose_pods_kueue_would_hold_is_left_to_it(template: Manifest) -> None:
    jobs = a_training_job("train", template=template), an_inference_job("chat", template=template)
    fields = "spec.roles[0].template", "spec.workers.template"
    for view, field in zip(seen(NODE, *jobs).jobs, fields, strict=True):
        assert view.refusal is not None
        assert view.refusal.reason is Reason.MANAGED_ELSEWHERE
        assert view.refusal.message.startswith(f"{field} has the ")


def test_a_job_whose_pods_wait_behind_somebody_elses_gate_is_not_kueues() -> None:
    template = a_template(schedulingGates=[{"name": "example.com/licence"}])
    assert stands(a_training_job("train", template=template)).refusal is None
