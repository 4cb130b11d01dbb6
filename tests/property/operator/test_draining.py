"""Whatever is wanted when: nobody who serves is taken out, or deleted, but who has to go."""

import copy
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.acting.jobs.services.inference import inference_step
from plimsoll.acting.patches import gate_patch
from plimsoll.acting.pods.manifest import milli_gpus, template_of
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import InferenceJob, InferenceJobStatus
from plimsoll.observe.snapshot import JobName, JobView, PodView
from plimsoll.observe.template_hash import template_hash
from plimsoll.planning.actions import Action, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, at, seen
from support.objects.job_manifests import a_template, an_inference_job

NAME = JobName(f"InferenceJob/{NAMESPACE}/serve")
DRAIN = timedelta(seconds=3)
MOST = 4
TICK = timedelta(seconds=1)

counts = st.one_of(st.none(), st.integers(0, MOST))
images = st.sampled_from(["1", "2", "never-ready"])
crashes = st.booleans()
days = st.lists(st.tuples(counts, images, crashes), min_size=4, max_size=30)


class Cluster:
    """One service on one node, with just enough of a kubelet and an API server."""

    def __init__(self) -> None:
        role = {"drain": "3s", "replicas": {"min": 0, "max": MOST}}
        self.job = at(an_inference_job("serve", role=role), "node", "node")
        self.pods: dict[str, Manifest] = {}
        self.now = NOW

    def step(self, count: int | None) -> tuple[JobView, Step]:
        """What is to be written now, where a plan wants so many replicas, or says nothing."""
        node = fake_node("node", gpus=MOST)
        snapshot = seen(node, self.job, *self.pods.values(), now=self.now)
        (view,) = snapshot.jobs
        assert view.inference is not None
        decided: dict[str, Action] = {}
        if count is not None:
            decided[NAME] = Resize(NAME, assignments(count), Reason.RESIZED, "so many")
        turn = Turn(snapshot, Occupancy(snapshot), decided=decided)
        return view, inference_step(view, view.inference, turn)

    def write(self, step: Step, *, crash: bool) -> None:
        """Do what a step says; after a crash only the first half of it is done."""
        self.job = {**self.job, "status": step.status.wire()}
        for change in step.gates:
            said = gate_patch(change)["status"]["conditions"][0]
            set_condition(self.pods[change.pod.name], said)
        if not crash:
            for pod in step.delete:
                del self.pods[pod.name]
            for pod in step.create:
                made = copy.deepcopy(pod)
                made["metadata"]["creationTimestamp"] = self.now.isoformat()
                self.pods[pod["metadata"]["name"]] = made

    def live(self) -> None:
        """A second passes, and the kubelet does its part."""
        self.now += TICK
        for pod in self.pods.values():
            pod["spec"]["nodeName"] = "node"
            pod.setdefault("status", {})["phase"] = "Running"
            starts = pod["spec"]["containers"][0]["image"] != "never-ready"
            gate = condition(pod, "plimsoll.dev/serving") == "True"
            for kind, holds in (("ContainersReady", starts), ("Ready", starts and gate)):
                set_condition(pod, {"type": kind, "status": str(holds)})


def condition(pod: Manifest, kind: str) -> str:
    found = pod["status"].get("conditions", [])
    return next((each["status"] for each in found if each["type"] == kind), "")


def set_condition(pod: Manifest, said: Manifest) -> None:
    status = pod.setdefault("status", {})
    others = [each for each in status.get("conditions", []) if each["type"] != said["type"]]
    status["conditions"] = [*others, said]


def assignments(count: int) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(RoleName("server"), number, GpuType(H100), (NodeName("node"),))
        for number in range(count)
    )


def with_image(job: Manifest, image: str) -> Manifest:
    template = a_template()
    template["spec"]["containers"][0]["image"] = image
    role = {**job["spec"]["roles"][0], "template": template}
    return {**job, "spec": {**job["spec"], "roles": [role]}}


def is_wanted(pod: PodView, step: Step) -> bool:
    assert isinstance(step.status, InferenceJobStatus)
    places = step.status.placement.assignments if step.status.placement else ()
    return (pod.role, pod.replica, pod.revision) in {
        (place.role, place.replica, place.revision) for place in places
    }


def is_current(pod: PodView, job: InferenceJob) -> bool:
    return pod.template_hash == template_hash(template_of(job, pod.role), milli_gpus(job, pod.role))


def assert_nobody_is_taken_out_in_vain(view: JobView, step: Step, now: datetime) -> None:
    job = view.inference
    assert job is not None
    closed = [change.pod for change in step.gates if not change.opens]
    for pod in closed:
        assert not (is_wanted(pod, step) and is_current(pod, job)), "wanted as it is"
    leaving = [pod for pod in view.pods if pod.draining_since or pod in closed]
    opens = {change.pod.uid for change in step.gates if change.opens}
    renewed = [pod for pod in leaving if is_wanted(pod, step) and pod.uid not in opens]
    assert len(renewed) <= 1, "a rollout takes out one at a time"
    for pod in step.delete:
        assert not pod.ready, "who serves is taken out first"
        assert not (pod.answers and pod.draining_since and now < pod.draining_since + DRAIN)


@given(days)
def test_nobody_who_serves_is_taken_out_but_who_has_to_go(
    day: list[tuple[int | None, str, bool]],
) -> None:
    cluster = Cluster()
    for count, image, crash in day:
        cluster.job = with_image(cluster.job, image)
        view, step = cluster.step(count)
        assert_nobody_is_taken_out_in_vain(view, step, cluster.now)
        cluster.write(step, crash=crash)
        cluster.live()


@given(days)
def test_once_nothing_changes_just_what_is_wanted_serves(
    day: list[tuple[int | None, str, bool]],
) -> None:
    cluster = Cluster()
    for count, image, crash in day:
        cluster.job = with_image(cluster.job, image)
        cluster.write(cluster.step(count)[1], crash=crash)
        cluster.live()
    cluster.job = with_image(cluster.job, "last")
    for count in (2, *[None] * (MOST * 8)):
        cluster.write(cluster.step(count)[1], crash=False)
        cluster.live()
    view, step = cluster.step(None)
    assert not step.does_more_than_report
    assert [pod.replica for pod in view.pods if pod.ready] == [0, 1]
    assert len(view.pods) == 2
