"""AppWrappers as they are planned: what they wrap, how they stand and end, what is refused."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.observe.adoption.gangs import gang_of
from plimsoll.observe.adoption.workload_view import Outcome
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import candidate, jobs_of, only, owner, problem, view
from support.clusters.seen import seen
from support.objects.batch_jobs import GATE, a_batch_job
from support.objects.manifests import edited
from support.objects.workloads import (
    a_jobset,
    a_pytorch_job,
    a_ray_cluster,
    a_ray_job,
    a_train_job,
    an_app_wrapper,
    asking,
    held,
    replicated,
    suspended,
)

START = "2026-11-01T00:00:00Z"
SERVICE: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "train"}}
PATHS = {
    "Job": ["template.spec.template"],
    "RayCluster": [
        "template.spec.headGroupSpec.template",
        "template.spec.workerGroupSpecs[0].template",
    ],
    "PyTorchJob": [
        f"template.spec.pytorchReplicaSpecs.{role}.template" for role in ("Master", "Worker")
    ],
    "Deployment": ["template.spec.template"],
    "Pod": ["template"],
}


def a_job(**rest: Any) -> Manifest:  # noqa: ANN401 - fields of a Job's spec
    """A Job as it is wrapped."""
    return a_batch_job(queue=None, held=False, **rest)


def paths_of(wrapped: Manifest) -> list[str]:
    """Where AppWrapper's controller finds the pods of what is wrapped."""
    if wrapped["kind"] == "JobSet":
        jobs = range(len(wrapped["spec"]["replicatedJobs"]))
        return [f"template.spec.replicatedJobs[{n}].template.spec.template" for n in jobs]
    return PATHS.get(wrapped["kind"], [])


def wrapping(
    *wrapped: Manifest,
    phase: str = "Suspended",
    said: dict[str, str] | None = None,
    **status: Any,  # noqa: ANN401 - fields of it
) -> Manifest:
    """An AppWrapper that asks to be planned, as its controller has seen it."""
    found = asking(suspended(an_app_wrapper("train", *wrapped)), said)
    components = [each["template"] for each in found["spec"]["components"]]
    places = [[{"path": path} for path in paths_of(each)] for each in components]
    states = [
        {"name": each["metadata"]["name"], "kind": each["kind"], "podSets": pods}
        for each, pods in zip(components, places, strict=True)
    ]
    return {**found, "status": {"phase": phase, "componentStatus": states, **status}}


def running(*wrapped: Manifest, **status: Any) -> Manifest:  # noqa: ANN401 - fields of it
    return suspended(wrapping(*wrapped, phase="Running", **status), suspend=False)


def made_by(wrapper: Manifest, made: Manifest, **status: Any) -> Manifest:  # noqa: ANN401 - fields of it
    """What an AppWrapper has made of what it wraps."""
    made = copy.deepcopy(made)
    made["metadata"]["ownerReferences"] = [owner(wrapper)]
    return {**made, "status": status}


def operations(wrapper: Manifest) -> list[tuple[str, str, object]]:
    found = candidate(wrapper)
    held_by = found.adapter.hold(found, datetime.now(UTC))
    return [(each["op"], each["path"], each["value"]) for each in held_by]


def test_its_pods_are_those_of_all_that_it_wraps() -> None:
    driver, workers = replicated("driver"), replicated("workers", workers=3, gpus=4)
    found = candidate(wrapping(SERVICE, a_jobset(replicatedJobs=[driver, workers])))
    gang = gang_of(found)
    assert (gang.count, gang.gpus) == (3, 4)
    assert (found.view.parallelism, found.view.due, found.view.beside) == (3, 3, 1)
    several = gang_of(candidate(wrapping(a_job(workers=2), a_job(name="other", workers=3))))
    assert several.count == 5, "of two Jobs, placed together"


@pytest.mark.parametrize("wrapped", [a_job(), a_pytorch_job(), a_ray_cluster(), a_ray_job()])
def test_it_is_not_resized(wrapped: Manifest) -> None:
    said = problem(wrapping(wrapped, said={"workers.min": "1", "workers.max": "4"}))
    assert "AppWrapper train cannot change its size" in said


def test_it_is_read_before_its_controller_has_seen_it_and_held_afterwards() -> None:
    wrapper = wrapping(a_job())
    before = only({**wrapper, "status": {}})
    assert before.wanted is not None
    assert not before.candidate.view.at_rest, "so nothing is written yet"
    assert only(wrapper).candidate.view.at_rest


def test_the_gate_is_added_to_the_pods_with_gpus_and_taken_away() -> None:
    wrapper = wrapping(SERVICE, a_ray_cluster())
    infos, gate = "/spec/components/1/podSetInfos", {"schedulingGates": [{"name": GATE}]}
    assert operations(wrapper) == [
        ("add", infos, []),
        ("add", f"{infos}/-", {}),
        ("add", f"{infos}/-", gate),
    ]
    gated = candidate(edited(wrapper, {"spec.components.1.podSetInfos": [{}, gate]}))
    assert gated.is_held
    assert not candidate(wrapper).is_held
    assert operations({**wrapper, "spec": held(wrapping(a_job()))["spec"]}) == []
    assert gated.adapter.let_go(gated) == [
        {"op": "remove", "path": f"{infos}/1/schedulingGates/0"},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


def test_one_that_asks_no_longer_is_of_concern_while_it_adds_our_gate() -> None:
    gate = {"schedulingGates": [{"name": GATE}]}
    wrapper: Manifest = {**wrapping(a_job()), "metadata": {"name": "train", "annotations": {}}}
    assert seen(wrapper).adopted.workloads == ()
    gated = edited(wrapper, {"spec.components.0.podSetInfos": [gate]})
    (found,) = seen(gated).adopted.workloads
    assert found.candidate.adapter.is_held(found.candidate.item)


def test_the_gate_goes_beside_what_others_add() -> None:
    other: Manifest = {"schedulingGates": [{"name": "example.com/quota"}]}
    infos = "/spec/components/0/podSetInfos"
    wrapper = wrapping(a_job())
    with_gates = edited(wrapper, {"spec.components.0.podSetInfos": [other]})
    assert operations(with_gates) == [("add", f"{infos}/0/schedulingGates/-", {"name": GATE})]
    with_labels = edited(wrapper, {"spec.components.0.podSetInfos": [{"labels": {"a": "b"}}]})
    assert operations(with_labels) == [("add", f"{infos}/0/schedulingGates", [{"name": GATE}])]
    wide = edited(wrapping(a_ray_cluster()), {"spec.components.0.podSetInfos": [{}]})
    gate = {"schedulingGates": [{"name": GATE}]}
    assert operations(wide) == [("add", f"{infos}/-", gate)]


def test_its_pods_may_run_where_what_is_added_says() -> None:
    added: Manifest = {
        "nodeSelector": {"pool": "a"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    wrapper = edited(wrapping(a_job()), {"spec.components.0.podSetInfos": [added]})
    shape = gang_of(candidate(wrapper)).template["spec"]
    assert shape["nodeSelector"] == {"pool": "a"}
    assert [each["key"] for each in shape["tolerations"]] == ["gpu"]


def test_it_is_at_rest_once_nothing_that_it_wraps_is_left() -> None:
    assert view(wrapping(a_job())).at_rest
    assert not view(wrapping(a_job(), phase="Suspending")).at_rest
    assert not view(wrapping(a_job(), phase="Running")).at_rest
    assert not view(suspended(wrapping(a_job()), suspend=False)).at_rest


def test_it_runs_since_it_made_what_it_wraps_and_counts_how_often_that_failed() -> None:
    deployed = {"type": "ResourcesDeployed", "status": "True", "lastTransitionTime": START}
    found = view(running(a_job(), conditions=[deployed], resettingCount=2))
    assert found.since == datetime.fromisoformat(START)
    assert found.failures == 2
    assert view(running(a_job())).since is None


def test_what_it_has_made_says_how_many_pods_are_left() -> None:
    job, jobset = a_job(workers=3), a_jobset(name="set", workers=2)
    wrapper = running(job, jobset)
    made = [made_by(wrapper, job, succeeded=1, failed=4), made_by(wrapper, jobset)]
    found = candidate(wrapper, *made, *jobs_of(made[1]))
    assert (found.view.parallelism, found.view.due, found.view.failures) == (5, 4, 4)
    assert len(found.children) == 2
    before = view(wrapper)
    assert (before.parallelism, before.due) == (5, 5), "what is not made yet is as it is wrapped"


def test_pods_are_numbered_where_one_thing_makes_them_all() -> None:
    index = "batch.kubernetes.io/job-completion-index"
    assert view(wrapping(SERVICE, a_job())).numbered_by == index
    assert not view(wrapping(a_job(), a_job(name="other"))).numbered_by


def test_what_it_wraps_is_its_concern_unless_it_asks_itself() -> None:
    wrapper = running(a_job())
    assert only(wrapper, made_by(wrapper, a_job())).candidate.adapter.kind == "AppWrapper"
    plain: Manifest = {**wrapper, "metadata": {"name": "train", "annotations": {}}}
    said = problem(plain, made_by(plain, asking(a_job())))
    assert said.startswith("Job train belongs to AppWrapper train, which suspends and resumes it:")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ({"phase": "Running"}, None),
        (
            {
                "phase": "Succeeded",
                "conditions": [
                    {"type": "QuotaReserved", "status": "False", "message": "2 pods succeeded"}
                ],
            },
            Outcome(failed=False, message="2 pods succeeded"),
        ),
        ({"phase": "Succeeded"}, Outcome(failed=False, message="Succeeded")),
        (
            {
                "phase": "Failed",
                "conditions": [
                    {
                        "type": "Unhealthy",
                        "status": "True",
                        "reason": "FailedComponent",
                        "message": "Found 1 failed components",
                    }
                ],
            },
            Outcome(failed=True, message="FailedComponent: Found 1 failed components"),
        ),
        ({"phase": "Failed"}, Outcome(failed=True, message="Failed")),
    ],
)
def test_it_ends_when_its_controller_says_so(status: Manifest, outcome: Outcome | None) -> None:
    found = candidate(suspended(wrapping(a_job(), **status), suspend=False))
    assert found.view.outcome == outcome
    assert found.adapter.is_over(found.item) is (outcome is not None)


A_GPU = {"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}
A_POD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train"},
    "spec": {"containers": [A_GPU]},
}
A_DEPLOYMENT: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "train"},
    "spec": {"template": {"spec": A_POD["spec"]}},
}
AT = "spec.components[0].template"


@pytest.mark.parametrize(
    ("wrapped", "said"),
    [
        pytest.param(
            [A_POD],
            f"{AT}: the pods of a Pod that asks for GPUs cannot be planned with an AppWrapper: wrap"
            " one of Job, JobSet, PyTorchJob, RayCluster, RayJob",
            id="a pod",
        ),
        pytest.param([A_DEPLOYMENT], f"{AT}: the pods of a Deployment", id="a Deployment"),
        pytest.param([a_train_job()], "spec: describes no pods", id="a TrainJob"),
        pytest.param([SERVICE], "spec: describes no pods", id="no pods"),
        pytest.param(
            [a_job(parallelism="two")], f"{AT}: is no Job that could be made: ", id="unreadable"
        ),
        pytest.param(
            [a_job(suspend=True)],
            f"{AT}.spec.suspend: nobody would resume it: remove it",
            id="suspended",
        ),
        pytest.param(
            [suspended(a_pytorch_job())],
            f"{AT}.spec.runPolicy.suspend: nobody would resume it",
            id="suspended elsewhere",
        ),
        pytest.param(
            [a_job(managedBy="example.com/other")],
            f"{AT}: example.com/other makes its pods, by managedBy: remove that field",
            id="managed elsewhere",
        ),
        pytest.param(
            [a_ray_cluster(enableInTreeAutoscaling=True)],
            f"{AT}.spec.enableInTreeAutoscaling: ",
            id="a problem of its own",
        ),
        pytest.param(
            [a_job(gpus=0)],
            f"{AT}.spec.template.spec.containers[0].resources.limits: asks for no GPU",
            id="no GPUs",
        ),
        pytest.param(
            [a_job(), a_job(name="other", gpus=2)],
            "spec.components[1].template.spec.template: its pods with GPUs differ",
            id="several kinds of pods",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_with_the_remedy(
    wrapped: list[Manifest], said: str
) -> None:
    wrapper = wrapping(*wrapped)
    assert problem(wrapper).startswith(said)
    assert problem({**wrapper, "status": {}}).startswith(said), "before its controller has seen it"


def test_what_kueue_marks_is_left_to_it() -> None:
    labelled = edited(a_job(), {"metadata.labels": {"kueue.x-k8s.io/queue-name": "team"}})
    assert "kueue.x-k8s.io/queue-name" in problem(wrapping(labelled))
    gates = [{"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}]
    gated = edited(wrapping(a_job()), {"spec.components.0.podSetInfos": gates})
    assert "kueue.x-k8s.io/topology" in problem(gated)


def test_only_its_own_controller_may_manage_it() -> None:
    def managed(by: str) -> str:
        return problem(edited(wrapping(a_job()), {"spec.managedBy": by}))

    assert not managed("workload.codeflare.dev/appwrapper-controller")
    assert "kueue.x-k8s.io/multikueue" in managed("kueue.x-k8s.io/multikueue")


def test_fields_that_are_null_are_read_as_if_they_were_not_there() -> None:
    said: Manifest = {"spec.template.metadata": {"creationTimestamp": None, "labels": None}}
    wrapper = wrapping(edited(a_job(workers=3), {**said, "spec.backoffLimit": None}))
    assert gang_of(candidate(wrapper)).count == 3
