"""What the pods of a service tell routers: the request sizes they take, and how much they carry."""

from typing import Any

from plimsoll.acting.jobs.services.inference import inference_step
from plimsoll.acting.patches import label_patch
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import an_inference_job

SHORT, LONG = "sizes.plimsoll.dev/short", "sizes.plimsoll.dev/long"
BOTH = {SHORT, LONG}
NODES = (fake_node("h", H100, 4), fake_node("l", L4, 4))


def a_service(groups: Manifest | None = None, **role: Any) -> Manifest:  # noqa: ANN401
    """Two replicas, one on an H100 and one on an L4."""
    by_size = {"requests": "BySize", "replicas": {"min": 2, "max": 9}, **role}
    job = at(an_inference_job("s", loads={H100: 9, L4: 3}, role=by_size), "h", "l")
    job["status"]["placement"]["assignments"][1]["acceleratorType"] = L4
    return parted(job, groups or {})


def parted(job: Manifest, groups: Manifest) -> Manifest:
    loads = [
        {"bucket": bucket, "wanted": "3", "since": NOW.isoformat(), "sizeGroup": groups.get(bucket)}
        for bucket in ("short", "long")
    ]
    status = {**job["status"], "roles": [{"name": "server", "loads": loads}]}
    return {**job, "status": status}


BY_TYPE = {"short": L4, "long": H100}


def stepped(*manifests: Manifest) -> Step:
    snapshot = seen(*NODES, *manifests)
    (view,) = snapshot.jobs
    assert view.inference is not None
    return inference_step(view, view.inference, Turn(snapshot, Occupancy(snapshot)))


def pods(job: Manifest) -> list[Manifest]:
    """The pods of the job, all ready."""
    made = list(stepped(job).create)
    for pod in made:
        pod["metadata"]["creationTimestamp"] = NOW.isoformat()
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return made


def sizes(pod: Manifest) -> set[str]:
    return {key for key in pod["metadata"]["labels"] if key.startswith("sizes.")}


def changes(step: Step) -> dict[int, dict[str, str | None]]:
    return {change.pod.replica: dict(change.labels) for change in step.labels}


def test_replicas_for_all_sizes_say_all_of_them() -> None:
    assert [sizes(pod) for pod in pods(a_service())] == [BOTH, BOTH]


def test_where_requests_go_anywhere_pods_say_no_sizes() -> None:
    job = a_service(BY_TYPE, requests="Anywhere")
    assert [sizes(pod) for pod in pods(job)] == [set(), set()]
    assert not stepped(job, *pods(job)).labels


def test_replicas_of_groups_that_are_ready_say_their_own_sizes_only() -> None:
    there = pods(a_service())
    found = changes(stepped(a_service(BY_TYPE), *there))
    assert found == {0: {SHORT: None}, 1: {LONG: None}}


def test_labels_that_are_right_are_not_written_again() -> None:
    job = a_service(BY_TYPE)
    there = pods(a_service())
    for pod, gone in zip(there, (SHORT, LONG), strict=True):
        del pod["metadata"]["labels"][gone]
    assert not stepped(job, *there).labels


def test_a_size_whose_replicas_are_not_ready_goes_to_all_others() -> None:
    job, there = a_service(BY_TYPE), pods(a_service())
    there[0]["status"]["conditions"] = []
    assert changes(stepped(job, *there)) == {0: {SHORT: None}}


def test_a_replica_changes_sizes_without_a_new_pod() -> None:
    there = pods(a_service())
    step = stepped(a_service(BY_TYPE), *there)
    assert step.labels
    assert (step.delete, step.create, step.gates) == ((), (), ())


def test_a_label_is_changed_on_that_very_pod() -> None:
    step = stepped(a_service(BY_TYPE), *pods(a_service()))
    patch = label_patch(step.labels[0])
    assert patch["metadata"]["uid"] == step.labels[0].pod.uid


def told(pod: Manifest) -> tuple[str | None, str | None]:
    labels = pod["metadata"]["labels"]
    return labels.get("plimsoll.dev/gpu-type"), labels.get("plimsoll.dev/weight")


def test_pods_tell_their_gpu_type_and_what_they_carry_beside_the_best() -> None:
    assert [told(pod) for pod in pods(a_service(requests="Anywhere"))] == [
        (H100, "100"),
        (L4, "35"),
    ]


def test_measured_capacity_changes_the_weight_of_pods_that_run() -> None:
    job = a_service(requests="Anywhere")
    there = pods(job)
    job["status"]["roles"][0]["measured"] = [
        {"type": L4, "bucket": "any", "load": 6, "seconds": 600}
    ]
    assert changes(stepped(job, *there)) == {1: {"plimsoll.dev/weight": "65"}}


def test_a_replica_of_unknown_capacity_has_no_weight() -> None:
    job = a_service(requests="Anywhere", profiles=[{"type": H100}, {"type": L4, "load": 3}])
    assert [told(pod) for pod in pods(job)] == [(H100, None), (L4, "100")]


def test_the_capacity_of_a_group_is_that_for_its_own_sizes() -> None:
    sizes = [
        {"type": H100, "bucket": "short", "load": 12},
        {"type": H100, "bucket": "long", "load": 5},
        {"type": L4, "bucket": "short", "load": 6},
        {"type": L4, "bucket": "long", "load": "0.1"},
    ]
    job = a_service(BY_TYPE, profiles=sizes)
    assert [told(pod) for pod in pods(job)] == [(H100, "100"), (L4, "50")]
