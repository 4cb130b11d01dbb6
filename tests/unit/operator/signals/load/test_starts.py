from dataclasses import replace
from datetime import timedelta

from plimsoll.api.inference_job import InferenceJob, InferencePlacement
from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.views.pods import pod_view
from plimsoll.signals.load.starts import MOST_START, REMEMBERED, Start, StartBook
from plimsoll_devcluster.gpu_models import A100, H100
from support.clusters.seen import NOW, objects_of
from support.objects.load_results import a_service

SECOND = timedelta(seconds=1)


def a_pod(replica: int, took: float, *, node: str = "n", role: str = "server") -> PodView:
    """A pod that was ready so many seconds after it was created; later ones have higher numbers."""
    created = NOW + replica * SECOND
    since = (created + took * SECOND).isoformat()
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    labels = {"plimsoll.dev/role": role, "plimsoll.dev/replica": f"{replica}"}
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": f"chat-{role}-{replica}",
            "uid": f"{role}-{replica}",
            "labels": labels,
            "creationTimestamp": created.isoformat(),
        },
        "spec": {"nodeName": node},
        "status": {"conditions": [ready]},
    }
    return pod_view(next(iter(objects_of(pod).pods)), Requests())


def placed(**kinds: str) -> InferenceJob:
    """A service whose replicas, by the number after the letter, are on these GPU types."""
    places = tuple(
        Assignment(
            role="server",
            replica=int(name[1:]),
            nodes=("n",),
            pool="p",
            accelerator_type=kind,
            revision=1,
        )
        for name, kind in kinds.items()
    )
    job = a_service()
    placement = InferencePlacement(revision=1, assignments=places)
    return job.model_copy(update={"status": job.status.model_copy(update={"placement": placement})})


def start_of(book: StartBook, job: InferenceJob) -> float | None:
    found = book.start(job, "server")
    return None if found is None else found.anywhere.total_seconds()


def test_of_several_starts_three_quarters_took_no_longer() -> None:
    book, job = StartBook(), a_service()
    assert book.start(job, "server") is None
    book.look(job, [a_pod(n, took) for n, took in enumerate((80, 90, 100, 3000))])
    assert start_of(book, job) == 100


def test_no_start_is_assumed_to_take_longer_than_half_an_hour() -> None:
    book, job = StartBook(), a_service()
    book.look(job, [a_pod(0, 86_400)])
    assert book.start(job, "server") == Start(MOST_START, MOST_START)


def test_a_pod_that_was_unready_for_a_while_did_not_start_more_slowly() -> None:
    book, job = StartBook(), a_service()
    book.look(job, [a_pod(0, 90)])
    book.look(job, [replace(a_pod(0, 90), ready=False)])
    book.look(job, [a_pod(0, 5000)])
    assert start_of(book, job) == 90


def test_a_pod_that_is_not_ready_yet_counts_once_it_is() -> None:
    book, job = StartBook(), a_service()
    book.look(job, [replace(a_pod(0, 90), ready=False)])
    assert book.start(job, "server") is None
    book.look(job, [a_pod(0, 90)])
    assert start_of(book, job) == 90


def test_the_slowest_type_that_replicas_are_placed_on_counts() -> None:
    book, both = StartBook(), placed(r0=H100, r1=A100)
    book.look(both, [a_pod(0, 60), a_pod(1, 300)])
    assert start_of(book, both) == 300
    assert start_of(book, placed(r0=H100)) == 60
    assert start_of(book, placed(r0="L4")) == 300


def test_roles_start_on_their_own() -> None:
    book, job = StartBook(), a_service("server", "decode")
    book.look(job, [a_pod(0, 60), a_pod(0, 200, role="decode")])
    assert start_of(book, job) == 60


def test_a_new_node_pulls_the_image_first() -> None:
    book, job = StartBook(), a_service()
    book.look(job, [a_pod(0, 400, node="a"), *(a_pod(n, 60, node="a") for n in range(1, 8))])
    book.look(job, [a_pod(8, 500, node="b"), a_pod(9, 61, node="b")])
    assert book.start(job, "server") == Start(61 * SECOND, 500 * SECOND)


def test_old_starts_are_forgotten() -> None:
    book, job = StartBook(), a_service()
    book.look(job, [a_pod(n, 600) for n in range(REMEMBERED)])
    book.look(job, [a_pod(n, 30) for n in range(REMEMBERED, 2 * REMEMBERED)])
    assert start_of(book, job) == 30
    book.forget_others(())
    assert book.start(job, "server") is None
