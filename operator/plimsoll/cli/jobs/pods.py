"""Which pods are a job's, and how they stand.

As for the operator, labels alone are no proof: a pod is a job's if it names the job's uid, or if
its chain of controllers leads to the workload that the job stands for.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.labels import RANK, REPLICA, ROLE
from plimsoll.observe.views.ownership import controller_uid, named_job
from plimsoll.observe.views.pod_starts import wait_of
from plimsoll.observe.whole_numbers import whole_number


def pods_by_job(
    jobs: Iterable[Job], pods: Iterable[Pod], makers: Mapping[str, str]
) -> Mapping[str, tuple[Pod, ...]]:
    """The pods of each job by its uid, in the order of role, replica and rank.

    `makers`: the uid of what controls a controller of pods, by the uid of that.
    """
    homes = {uid: job for job in jobs for uid in _uids(job)}
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        home = next((homes[uid] for uid in _chain(pod, makers) if uid in homes), None)
        if home is not None and home.metadata.namespace == pod.metadata.namespace:
            found[home.metadata.uid].append(pod)
    return {uid: tuple(sorted(mine, key=order)) for uid, mine in found.items()}


def _uids(job: Job) -> Iterator[str]:
    """What a chain of controllers ends at that starts at a job's pod."""
    yield job.metadata.uid
    if isinstance(job, TrainingJob) and job.spec.workload_ref is not None:
        yield job.spec.workload_ref.uid


def _chain(pod: Pod, makers: Mapping[str, str]) -> Iterator[str]:
    yield named_job(pod)
    uid, known = controller_uid(pod), set[str]()
    while uid and uid not in known:  # anybody can make a circle of controllers
        known.add(uid)
        yield uid
        uid = makers.get(uid, "")


def order(pod: Pod) -> tuple[str, int, int, str]:
    """Sort key: by role, replica and rank."""
    labels = pod.metadata.labels
    replica, rank = (whole_number(labels.get(label, "")) or 0 for label in (REPLICA, RANK))
    return role_of(pod), replica, rank, pod.metadata.name


def role_of(pod: Pod) -> str:
    """A pod's role; "" for one without, such as a launcher of an adopted workload."""
    return pod.metadata.labels.get(ROLE, "")


def state_of(pod: Pod) -> str:
    """How a pod stands, in a word, as `kubectl get pods` has it."""
    if pod.metadata.deletion_timestamp is not None:
        return "Terminating"
    if pod.spec.scheduling_gates:
        return "SchedulingGated"
    wait = wait_of(pod) if pod.status.phase in ("Pending", "Running") else None
    return (wait.reason if wait is not None else "") or pod.status.phase or "Pending"
