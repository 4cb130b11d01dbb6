from collections.abc import Iterable
from datetime import timedelta

import pytest

from plimsoll.kube.watching.workloads import Reading
from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, a_reading, objects_of, seen
from support.clusters.target_lives import a_targeting_job, a_workload
from support.objects.job_manifests import a_pool
from support.objects.target_pods import GPU, a_numbered_pod, a_scaled_job, a_target_pod, controlled

L4 = "NVIDIA-L4"
NODES = [fake_node("a", gpus=4), fake_node("b", gpus=4), fake_node("l4", L4, 4)]


def looked_at(
    *manifests: Manifest, target: Manifest | None = None, readings: Iterable[Reading] = ()
) -> Snapshot:
    targets = list(readings) or [a_reading(target or a_workload())]
    return seen(*NODES, *manifests, targets=targets)


def the_job(snapshot: Snapshot) -> JobView:
    (view,) = snapshot.jobs
    return view


def places(view: JobView) -> list[tuple[int, str]]:
    placement = view.resource.status.placement
    found = placement.assignments if placement else ()
    return [(place.replica, place.nodes[0]) for place in found]


def replicas(view: JobView) -> dict[str, int]:
    return {pod.name: pod.replica for pod in view.pods}


def problem(view: JobView) -> tuple[Reason, str]:
    assert view.target is not None
    assert view.target.problem is not None
    return view.target.problem


def test_what_runs_is_the_jobs_place_and_not_somebody_elses() -> None:
    target = a_workload(replicas=2)
    snapshot = looked_at(
        a_targeting_job(), a_target_pod("p", "a"), a_target_pod("q", "b"), target=target
    )
    assert places(the_job(snapshot)) == [(0, "a"), (1, "b")]
    assert snapshot.node_by_name["a"].unmanaged_units == {}
    assert the_job(snapshot).status_written.placement is None, "it is not reported yet"


def test_pods_of_others_are_not_the_jobs() -> None:
    other = a_target_pod("other", "a", labels={"app": "another"})
    snapshot = looked_at(a_targeting_job(), other)
    assert places(the_job(snapshot)) == []
    assert snapshot.node_by_name["a"].unmanaged_units == {GPU: 1}


STRANGERS = {
    "one that nothing controls": {**a_target_pod("p", "a")},
    "a StatefulSet's": controlled(a_target_pod("p", "a"), "StatefulSet", "web"),
    "a Job's": controlled(a_target_pod("p", "a"), "Job", "web-5d9f", api_version="batch/v1"),
    "another Deployment's": controlled(a_target_pod("p", "a"), "ReplicaSet", "web-db-5d9f"),
    "a ReplicaSet's of no Deployment": controlled(a_target_pod("p", "a"), "ReplicaSet", "web"),
    "that of a kind of the same name": controlled(
        a_target_pod("p", "a"), "ReplicaSet", "web-5d9f", api_version="example.com/v1"
    ),
    "a LeaderWorkerSet's": controlled(
        a_target_pod("p", "a", labels={"leaderworkerset.sigs.k8s.io/name": "web"}),
        "StatefulSet",
        "web",
    ),
}
del STRANGERS["one that nothing controls"]["metadata"]["ownerReferences"]


@pytest.mark.parametrize("pod", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_pod_of_another_controller_is_not_the_targets_by_its_labels(pod: Manifest) -> None:
    snapshot = looked_at(a_targeting_job(), pod)
    assert the_job(snapshot).pods == ()
    assert snapshot.node_by_name["a"].unmanaged_units == {GPU: 1}


def test_a_pod_of_another_namespace_is_not_the_targets() -> None:
    pod = a_target_pod("p", "a")
    pod["metadata"]["namespace"] = "elsewhere"
    assert the_job(looked_at(a_targeting_job(), pod)).pods == ()


def test_a_pod_of_the_target_with_other_labels_is_not_meant() -> None:
    pod = a_target_pod("p", "a", labels={"app": "another"})
    assert the_job(looked_at(a_targeting_job(), pod)).pods == ()


def test_a_pod_of_a_workload_that_was_made_anew_is_the_old_ones() -> None:
    target = a_workload("StatefulSet")
    target["metadata"]["uid"] = "another"
    view = the_job(looked_at(a_targeting_job(target=target), a_numbered_pod(0, "a"), target=target))
    assert view.pods == ()


def test_of_two_versions_of_one_workload_the_older_job_has_it() -> None:
    target = a_workload()
    newer = {**target, "apiVersion": "apps/v2"}
    jobs = a_targeting_job("a", target=target), a_targeting_job("b", target=newer)
    first, second = looked_at(*jobs, readings=[a_reading(target), a_reading(newer)]).jobs
    assert first.target is not None
    assert first.target.problem is None
    assert problem(second)[0] == Reason.AMBIGUOUS_SELECTOR


def test_a_selector_too_long_for_a_status_is_reported() -> None:
    target = a_workload()
    target["spec"]["selector"]["matchLabels"] |= {f"k{n}": "x" * 60 for n in range(20)}
    found = problem(the_job(looked_at(a_targeting_job(target=target), target=target)))
    assert found[0] == Reason.INVALID_SPEC
    assert "1024 characters" in found[1]


def test_a_node_that_cannot_be_read_stays_as_it_was_for_the_targets_on_it() -> None:
    observer, target, job = Observer(), a_workload(), a_targeting_job()
    for node in (fake_node("a", gpus=4), fake_node("a", gpus=9000)):
        objects = objects_of(node, job, a_target_pod("p", "a"), targets=[a_reading(target)])
        snapshot = observer.snapshot(objects, NOW)
        assert places(the_job(snapshot)) == [(0, "a")]
        assert [offer.count for offer in snapshot.node_by_name["a"].offers] == [4]


def test_a_target_on_a_node_that_could_never_be_read_has_no_place_there() -> None:
    snapshot = seen(
        fake_node("a", gpus=9000),
        a_targeting_job(),
        a_target_pod("p", "a"),
        targets=[a_reading(a_workload())],
    )
    assert (snapshot.nodes, places(the_job(snapshot))) == ((), [])


@pytest.mark.slow
def test_of_a_thousand_targets_each_has_its_own_pods() -> None:
    targets = [a_workload(name=f"w{n}") for n in range(1000)]
    names = [target["metadata"]["name"] for target in targets]
    jobs = [a_targeting_job(f"j-{each['metadata']['name']}", target=each) for each in targets]
    pods = [
        controlled(a_target_pod(name, labels={"app": name}), "ReplicaSet", f"{name}-5d9f")
        for name in names
    ]
    views = seen(*NODES, *jobs, *pods, targets=map(a_reading, targets)).jobs
    assert {view.resource.metadata.name: replicas(view) for view in views} == {
        f"j-{name}": {name: -1} for name in names
    }


def test_a_role_is_made_of_the_template_with_its_gpus_apart() -> None:
    target = a_workload(gpus=2, nodeSelector={"zone": "a"})
    view = the_job(looked_at(a_targeting_job(), target=target))
    assert view.inference is not None
    (role,) = view.inference.spec.roles
    assert (role.name, role.milli_gpus_per_pod, role.pods_per_replica) == ("target", 2000, 1)
    assert role.template.spec.node_selector == {"zone": "a"}


def a_pod_of_a_group(rank: int) -> Manifest:
    """A pod of the first group of LeaderWorkerSet `web`; only leaders have what it selects by."""
    of = "leaderworkerset.sigs.k8s.io"
    labels = {f"{of}/name": "web", f"{of}/group-index": "0", f"{of}/worker-index": str(rank)}
    pod = a_target_pod(f"p{rank}", "a", labels={**labels, "app": "" if rank else "web"})
    return controlled(pod, "StatefulSet", "web-0" if rank else "web")


def test_a_group_of_leader_and_workers_is_one_replica() -> None:
    plain = a_workload()
    group = {"workerTemplate": plain["spec"].pop("template"), "size": 4}
    spec = {**plain["spec"], "leaderWorkerTemplate": group}
    kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    target: Manifest = {**plain, **kind, "spec": spec}
    pods = [a_pod_of_a_group(n) for n in range(4)]
    view = the_job(looked_at(a_targeting_job(target=target), *pods, target=target))
    assert view.inference is not None
    assert view.inference.spec.roles[0].pods_per_replica == 4
    placement = view.resource.status.placement
    assert placement is not None
    assert [place.nodes for place in placement.assignments] == [("a",) * 4]
    assert [pod.rank for pod in view.pods] == [0, 1, 2, 3]


def test_a_pod_has_the_place_where_it_is_or_is_sent_to() -> None:
    target = a_workload(replicas=3, gated=True)
    pods = a_target_pod("p", "b"), a_target_pod("q", sent="a"), a_target_pod("r", gated=True)
    view = the_job(looked_at(a_scaled_job(a_targeting_job(), "a", "b", "b"), *pods, target=target))
    assert replicas(view) == {"q": 0, "p": 1, "r": 2}


def test_where_pods_run_elsewhere_than_was_meant_that_is_the_place() -> None:
    target = a_workload(replicas=2)
    pods = a_target_pod("p", "a"), a_target_pod("q", "b")
    view = the_job(looked_at(a_scaled_job(a_targeting_job(), "a", "a"), *pods, target=target))
    assert places(view) == [(0, "a"), (1, "b")]
    assert view.resource.status.revision == 2, "it is another placement"


def test_places_are_kept_for_pods_that_are_to_come() -> None:
    view = the_job(looked_at(a_scaled_job(a_targeting_job(), "a", "b"), a_target_pod("p", "a")))
    assert places(view) == [(0, "a"), (1, "b")]


def test_who_is_to_go_by_the_count_gets_no_place_again() -> None:
    target = a_workload(replicas=2)
    pods = a_target_pod("p", "a"), a_target_pod("q", "b")
    view = the_job(looked_at(a_scaled_job(a_targeting_job(), "a"), *pods, target=target))
    assert places(view) == [(0, "a")]
    assert replicas(view) == {"p": 0, "q": -1}


def test_of_numbered_replicas_those_beyond_the_count_have_no_place() -> None:
    pods = [a_numbered_pod(n, "a") for n in range(3)]
    target = a_workload("StatefulSet", replicas=3)
    job = a_scaled_job(a_targeting_job(target=target), "a", replicas=1)
    view = the_job(looked_at(job, *pods, target=target))
    assert replicas(view) == {"web-0": 0, "web-1": -1, "web-2": -1}


def test_numbered_replicas_keep_their_numbers() -> None:
    pods = [a_numbered_pod(n, node) for n, node in enumerate("ba")]
    target = a_workload("StatefulSet", replicas=2)
    view = the_job(
        looked_at(a_scaled_job(a_targeting_job(target=target), "a", "b"), *pods, target=target)
    )
    assert places(view) == [(0, "b"), (1, "a")]


def test_pods_on_a_node_that_must_be_left_hold_no_place_unless_we_placed_them() -> None:
    going = fake_node("going", gpus=4)
    going["metadata"]["deletionTimestamp"] = NOW.isoformat()
    for gated, kept in ((False, []), (True, [(0, "going")])):
        target = a_workload(gated=gated)
        job = a_scaled_job(a_targeting_job(), "going")
        view = the_job(looked_at(going, job, a_target_pod("p", "going"), target=target))
        assert places(view) == kept


@pytest.mark.parametrize(
    ("target", "job", "reason", "words"),
    [
        (a_workload(gpus=0), {}, Reason.INVALID_SPEC, "asks for no GPU: set nvidia.com/gpu"),
        (a_workload(), {"types": [L4]}, Reason.INVALID_SPEC, f"has {H100}: add that type to"),
    ],
)
def test_what_cannot_be_planned_with_is_reported_with_a_remedy(
    target: Manifest, job: Manifest, reason: Reason, words: str
) -> None:
    snapshot = looked_at(a_targeting_job(**job), a_target_pod("p", "a"), target=target)
    found = problem(the_job(snapshot))
    assert found[0] == reason
    assert words in found[1]
    assert snapshot.node_by_name["a"].unmanaged_units == {GPU: 1}, "then it is not ours"


def marked(workload: Manifest, *, template: bool = False, gate: bool = False) -> Manifest:
    """The workload with a mark of Kueue: a label of its own, or a label or gate of its pods."""
    inner = workload["spec"]["template"]
    if gate:
        inner["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    else:
        where = inner if template else workload
        where["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "team"
    return workload


KUEUES = {
    "by its label": (marked(a_workload()), "Deployment web has the label"),
    "by its pods' label": (
        marked(a_workload(), template=True),
        "the pod template of Deployment web has the label",
    ),
    "by its pods' gate": (
        marked(a_workload(), gate=True),
        "the pod template of Deployment web has the scheduling gate",
    ),
}


@pytest.mark.parametrize(("target", "words"), KUEUES.values(), ids=KUEUES.keys())
def test_a_target_that_kueue_manages_is_left_to_it(target: Manifest, words: str) -> None:
    snapshot = looked_at(a_targeting_job(), a_target_pod("p", "a"), target=target)
    found = problem(the_job(snapshot))
    assert found[0] is Reason.MANAGED_ELSEWHERE
    assert found[1].startswith(words)
    assert snapshot.node_by_name["a"].unmanaged_units == {GPU: 1}, "its pods are somebody else's"


def of_kserve(autoscaler: str | None) -> Manifest:
    """A Deployment as KServe makes it for an InferenceService with that annotation."""
    owner = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "name": "llama"}
    workload = a_workload()
    said = {} if autoscaler is None else {"serving.kserve.io/autoscalerClass": autoscaler}
    owners = [{**owner, "uid": "u", "controller": True}]
    workload["metadata"] |= {"annotations": said, "ownerReferences": owners}
    return workload


@pytest.mark.parametrize("autoscaler", [None, "hpa", "keda", "none"])
def test_a_target_that_kserve_scales_is_left_to_it(autoscaler: str | None) -> None:
    target = of_kserve(autoscaler)
    found = problem(the_job(looked_at(a_targeting_job(), a_target_pod("p", "a"), target=target)))
    assert found[0] is Reason.MANAGED_ELSEWHERE
    assert "InferenceService llama" in found[1]
    assert "annotate that with serving.kserve.io/autoscalerClass: external" in found[1]


def test_a_target_whose_scaling_kserve_leaves_to_others_is_planned() -> None:
    target = of_kserve("external")
    view = the_job(looked_at(a_targeting_job(), a_target_pod("p", "a"), target=target)).target
    assert view is not None
    assert view.problem is None


def test_a_target_is_kueues_too_if_only_a_pod_says_so() -> None:
    mine = a_target_pod("p", "a", labels={"kueue.x-k8s.io/managed": "true"})
    found = problem(the_job(looked_at(a_targeting_job(), mine)))
    assert found[0] is Reason.MANAGED_ELSEWHERE
    assert found[1].startswith("pod p has the label")


def test_a_pod_of_kueues_that_leaves_says_nothing_of_its_target_any_more() -> None:
    old = a_target_pod("p", "a", labels={"kueue.x-k8s.io/managed": "true"})
    old["metadata"]["deletionTimestamp"] = NOW.isoformat()
    target = the_job(looked_at(a_targeting_job(), old)).target
    assert target is not None
    assert target.problem is None


def test_a_target_that_cannot_be_read_is_reported() -> None:
    reading = a_reading(a_workload(), problem="there is no Deployment web")
    view = the_job(looked_at(a_targeting_job(), readings=[reading]))
    assert problem(view) == (Reason.FAILED_GET_SCALE, "there is no Deployment web")


def test_of_two_jobs_with_one_target_the_older_has_it() -> None:
    snapshot = looked_at(a_targeting_job("b"), a_targeting_job("a"))
    younger, older = snapshot.jobs
    assert problem(younger)[0] == Reason.AMBIGUOUS_SELECTOR
    assert "InferenceJob b" in problem(younger)[1]
    assert older.target is not None
    assert older.target.problem is None


@pytest.mark.parametrize(("there", "new"), [("a", "b"), ("b", "a")])
def test_of_two_jobs_of_the_same_second_the_one_that_acts_keeps_it(there: str, new: str) -> None:
    jobs = [a_scaled_job(a_targeting_job(there), "a"), a_targeting_job(new)]
    for job in jobs:
        job["metadata"]["creationTimestamp"] = NOW.isoformat()
    by_name = {view.resource.metadata.name: view for view in looked_at(*jobs).jobs}
    assert problem(by_name[new])[0] == Reason.AMBIGUOUS_SELECTOR
    kept = by_name[there].target
    assert kept is not None
    assert kept.problem is None


def test_the_pool_names_the_gpus() -> None:
    pool = a_pool("renamed", {"type": "kwok"}, gpuType="H100")
    job = a_targeting_job(types=["H100"])
    view = the_job(looked_at(pool, job, a_target_pod("p", "a")))
    placement = view.resource.status.placement
    assert placement is not None
    (place,) = placement.assignments
    assert (place.pool, place.accelerator_type) == ("renamed", "H100")


def test_a_contested_target_is_as_others_have_it() -> None:
    times = [(NOW - timedelta(minutes=n)).isoformat() for n in (1, 2, 3)]
    status = {"replicas": 1, "found": 1, "overriddenTimes": times}
    target = a_workload(replicas=2)
    job = a_scaled_job(a_targeting_job(), "a", target=status)
    view = the_job(looked_at(job, a_target_pod("p", "a"), a_target_pod("q", "b"), target=target))
    assert view.target is not None
    assert view.target.contested
    assert places(view) == [(0, "a"), (1, "b")]
