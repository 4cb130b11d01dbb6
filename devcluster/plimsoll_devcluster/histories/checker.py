"""Check that a cluster is as it should be at rest, and was so at every moment before.

Written from what is promised to users, sharing no code with the operator. `complaints` checks a
cluster that should have come to rest; `Witness` checks every moment on the way there.
"""

from collections import defaultdict
from collections.abc import Generator

from plimsoll_devcluster.histories.room import lacks, queue_gpus_left, watts_left
from plimsoll_devcluster.histories.script import HIGH, LOW, RUN_SECONDS, Lane
from plimsoll_devcluster.histories.world import (
    GPU,
    World,
    companions_of,
    condition,
    gang_of,
    gpus_of,
    is_going,
    is_open,
    is_over,
    is_ready,
    is_up,
    label,
    must_be_left,
    name_of,
    node_of,
    placements_of,
)
from plimsoll_devcluster.manifest import Manifest

_PRIORITY = {HIGH: 100, LOW: -10}


def complaints(world: World, lane: Lane) -> list[str]:
    """What is wrong at rest in the lane; `world` is the lane's part of the cluster."""
    of_jobs = (each for job in world.jobs for each in _of_job(job, world, lane))
    return [*_lost_or_left(world, lane), *_beyond_limits(world, lane), *of_jobs]


def unreported(world: World) -> list[str]:
    """Jobs without a current status, which is all that a hostile tenant is owed."""
    return [each for job in world.jobs for each in _without_report(job)]


def _without_report(job: Manifest) -> Generator[str]:
    name, status = name_of(job), job.get("status", {})
    if status.get("observedGeneration") != job["metadata"]["generation"]:
        yield f"{name} has a status from before its last change"
    if not status.get("message") or not status.get("reason"):
        yield f"{name} has a status without a reason or a message"


def _lost_or_left(world: World, lane: Lane) -> Generator[str]:
    there = {name_of(job) for job in world.jobs}
    if there != lane.jobs.keys():
        yield f"jobs {sorted(there ^ lane.jobs.keys())} are lost, or are still there"
    known = {job["metadata"]["uid"] for job in world.jobs}
    for pod in world.pods:
        if label(pod, "job-uid") not in known:
            yield f"pod {name_of(pod)} is an orphan"
    for service in world.services:
        if not {owner["uid"] for owner in service["metadata"]["ownerReferences"]} & known:
            yield f"Service {name_of(service)} is an orphan"


def _beyond_limits(world: World, lane: Lane) -> Generator[str]:
    if (left := queue_gpus_left(world, lane, world.pods)) < 0:
        yield f"the queue holds {-left} GPUs more than it may, {lane.queue_gpus}"
    if (watts := watts_left(world, lane, world.pods)) < 0:
        yield f"the nodes draw {-watts:g} W more than they may"


def _of_job(job: Manifest, world: World, lane: Lane) -> Generator[str]:
    name, status = name_of(job), job.get("status", {})
    pods = [pod for pod in world.pods if label(pod, "job-uid") == job["metadata"]["uid"]]
    yield from _without_report(job)
    if not status.get("message") or not status.get("reason"):
        return
    if "True" in (condition(job, "Complete"), condition(job, "Failed")):
        yield from _ended(job, pods, lane)
    elif job["spec"].get("suspend"):
        if pods or placements_of(job) or status["reason"] != "Suspended":
            yield f"{name} is suspended, says {status['reason']} and has {len(pods)} pods"
    else:
        # What a workload's own controller keeps of pods that have failed is its business.
        kept = name_of(job) in lane.workloads
        yield from _placed(job, [pod for pod in pods if not (kept and is_over(pod))], world)
        yield from _waits(job, world, lane)


def _ended(job: Manifest, pods: list[Manifest], lane: Lane) -> Generator[str]:
    as_drawn = lane.jobs.get(name_of(job), job)
    if condition(job, "Failed") == "True" or not _ends_by_itself(as_drawn):
        yield f"{name_of(job)} has ended as {job['status']['reason']}, which nobody asked for"
    if not all(map(is_over, pods)):
        yield f"{name_of(job)} is complete, and pods of it run"


def _ends_by_itself(job: Manifest) -> bool:
    spec = job["spec"]
    by_launcher = spec.get("successPolicy", {}).get("role") == "launcher"
    template = (spec["roles"][0] if by_launcher else spec.get("workers", {})).get("template", {})
    return RUN_SECONDS in template.get("metadata", {}).get("annotations", {})


def _placed(job: Manifest, pods: list[Manifest], world: World) -> Generator[str]:
    """Its pods are those that its placement wants, where it wants them, and serve."""
    placements, name = placements_of(job), name_of(job)
    there = sorted(
        (
            label(pod, "role"),
            int(label(pod, "replica")),
            pod["spec"].get("nodeName", ""),
            int(label(pod, "revision")),
        )
        for pod in pods
    )
    if there != placements:
        yield f"{name} has pods {there}, its placement wants {placements}"
    silent = {name for name, node in world.nodes.items() if not is_up(node)}
    heard = [pod for pod in pods if not is_over(pod) and node_of(pod) not in silent]
    if not all(is_ready(pod) and not is_going(pod) for pod in heard):
        yield f"{name} has pods that are not ready"
    for _, _, node, _ in placements:
        if node not in world.nodes or must_be_left(world.nodes[node]):
            yield f"{name} is on {node}, which is gone or has a notice"
    least = gang_of(job)[0] + companions_of(job)
    if placements and len(placements) < least:
        yield f"{name} runs with {len(placements)} of at least {least}"
    on_silent = any(node in silent for _, _, node, _ in placements)
    if len(placements) >= _wanted(job) and not on_silent and condition(job, "Running") != "True":
        yield f"{name} has all its pods and says {job['status']['reason']}"


def _waits(job: Manifest, world: World, lane: Lane) -> Generator[str]:
    """A waiting job has no room, and gives the true reason."""
    if len(placements_of(job)) >= _wanted(job):
        return
    name, (least, gpus) = name_of(job), gang_of(job)
    lacking = lacks(job, world, lane, world.pods)
    if not lacking:
        yield f"{name} waits for {least} x {gpus} GPUs though there is room"
    if not lacks(job, world, lane, _without_lower(job, world)):
        yield f"{name} waits though jobs of lower priority hold what it needs"
    if not placements_of(job):
        yield from _reason_given(job, world, lane, lacking)


def _wanted(job: Manifest) -> int:
    """The pods it should have if there is room; a gang's pods beyond its minimum are a gift."""
    spec = job["spec"]
    sizes = spec["workers"] if "workers" in spec else spec["roles"][0]["replicas"]
    return sizes["min"] + companions_of(job)


def _reason_given(job: Manifest, world: World, lane: Lane, lacking: set[str]) -> Generator[str]:
    higher = [
        each for each in world.jobs if _priority(each) > _priority(job) and placements_of(each)
    ]
    others = {
        "LowerPriority": bool(higher),
        "CannotFit": bool(lacks(job, world, lane, ())),
        "NoEligibleNode": not any(map(is_open, world.nodes.values())),
    }
    true = lacking | {reason for reason, is_so in others.items() if is_so}
    if (reason := job["status"]["reason"]) not in true:
        said = f"{name_of(job)} says {reason}: {job['status']['message']}"
        yield f"{said}, which is not so; true is {sorted(true)}"
    if condition(job, "Admitted") != "False":
        yield f"{name_of(job)} has no place, and Admitted is not False"


def _without_lower(job: Manifest, world: World) -> list[Manifest]:
    """The pods that would exist without the jobs of lower priority."""
    lower = {each["metadata"]["uid"] for each in world.jobs if _priority(each) < _priority(job)}
    return [pod for pod in world.pods if label(pod, "job-uid") not in lower]


def _priority(job: Manifest) -> int:
    return _PRIORITY.get(job["spec"].get("priorityClassName", ""), 0)


class Witness:
    """Sees every pod event in order, and checks what must not hold even for a moment."""

    def __init__(self) -> None:
        self._pods: dict[tuple[str, str], Manifest] = {}
        self._gpus: dict[str, int] = {}
        self._most: dict[tuple[str, str], int] = {}
        self.violations: dict[str, list[str]] = defaultdict(list)
        """Violations by namespace."""

    def expect(self, lane: Lane) -> None:
        """Learn the capacity of a lane's nodes and how large its jobs may become."""
        for name, node in lane.nodes.items():
            self._gpus[name] = int(node["status"]["allocatable"][GPU])
        self._most |= {(lane.namespace, name): most for name, most in lane.most_pods.items()}

    def forget(self) -> None:
        """Forget all pods: it is unknown what became of them."""
        self._pods.clear()

    def see(self, kind: str, pod: Manifest) -> None:
        """Process one event of a watch."""
        key = pod["metadata"]["namespace"], name_of(pod)
        if kind == "DELETED":
            self._pods.pop(key, None)
            return
        self._pods[key] = pod
        for wrong in (*self._crowded(node_of(pod)), *self._doubled(pod)):
            if wrong not in self.violations[key[0]]:
                self.violations[key[0]].append(wrong)

    def _crowded(self, node: str) -> Generator[str]:
        there = [pod for pod in self._pods.values() if node_of(pod) == node and not is_over(pod)]
        taken = sum(map(gpus_of, there))
        if taken > self._gpus.get(node, taken):
            yield f"{node} has {self._gpus[node]} GPUs, and {sorted(map(name_of, there))} on it"

    def _doubled(self, pod: Manifest) -> Generator[str]:
        job, namespace = label(pod, "job-name"), pod["metadata"]["namespace"]
        alive = [
            each
            for each in self._pods.values()
            if each["metadata"]["namespace"] == namespace
            and label(each, "job-name") == job
            and not is_going(each)
            and not is_over(each)
        ]
        if len(alive) > self._most.get((namespace, job), len(alive)):
            yield f"{job} has {len(alive)} pods at once, and may have {self._most[namespace, job]}"
        revisions = {label(each, "revision") for each in alive}
        if label(pod, "job-kind") == "TrainingJob" and len(revisions) > 1:
            yield f"{job} has workers of the revisions {sorted(revisions)} at once"
