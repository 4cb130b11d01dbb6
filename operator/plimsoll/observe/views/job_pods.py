"""Tell the pods of jobs from all others, and see each as what it is."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.kept import Kept, same
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll.observe.readable import countable_requests, readable
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.views.nodes import Taken
from plimsoll.observe.views.ownership import controller_uid, is_left_behind, named_job
from plimsoll.observe.views.pods import adopted_pod_view, pod_view, target_pod_view, wanted_node

PodsByJob = Mapping[str, tuple[PodView, ...]]


@dataclass(frozen=True, slots=True)
class Divided:
    """The pods of each job by its uid, the job of each of these pods by uid, and all others.

    `beside`: how many pods without GPUs of an adopted workload have found a node, by the job's uid.
    They are among the others, as kube-scheduler places them.
    """

    by_job: PodsByJob
    job_of: Mapping[str, str]
    unmanaged: Sequence[Pod]
    beside: Mapping[str, int]


class PodViews:
    """Views of pods, one snapshot after the other; what has not changed is the same object."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[Pod, Requests]] = {}
        self._views: dict[str, tuple[Pod, PodView | None]] = {}
        self._foreign_views: dict[str, tuple[Pod, str, PodView | None]] = {}
        self._by_job: PodsByJob = {}
        self._homes: Mapping[str, str] = {}
        self._adopted: Mapping[str, str] = {}
        self._divided, self._taken = Kept[Divided](), Kept[Mapping[str, Taken]]()

    def divided(
        self, pods: Sequence[Pod], homes: Mapping[str, str], adopted: Mapping[str, str]
    ) -> Divided:
        """The pods of jobs, whose uids and namespaces are given, and the unmanaged ones.

        `adopted` are the jobs' uids by that of the workload whose pods are theirs. An unreadable
        pod of ours counts as an unmanaged pod that takes what it requests.
        """
        if homes is not self._homes and homes == self._homes:
            homes = self._homes
        if adopted is not self._adopted and adopted == self._adopted:
            adopted = self._adopted
        self._homes, self._adopted = homes, adopted
        work = (homes, adopted)
        return self._divided.of(lambda: self._divide(pods), pods, work)

    def _divide(self, pods: Sequence[Pod]) -> Divided:
        self._forget_others({pod.metadata.uid for pod in pods})
        by_job: dict[str, list[PodView]] = defaultdict(list)
        unmanaged: list[Pod] = []
        beside: dict[str, int] = defaultdict(int)
        stand_ins = frozenset(self._adopted.values())
        for pod in pods:
            view = self._of_a_job(pod, stand_ins)
            if view is None:
                unmanaged.append(pod)
            elif view.job_uid in stand_ins and not any(map(is_gpu_resource, view.requests.others)):
                unmanaged.append(pod)
                beside[view.job_uid] += _has_found_its_node(pod)
            else:
                by_job[view.job_uid].append(view)
        self._by_job = {uid: self._kept(uid, of) for uid, of in by_job.items()}
        job_of = {pod.uid: uid for uid, of in by_job.items() for pod in of}
        return Divided(self._by_job, job_of, unmanaged, dict(beside))

    def _of_a_job(self, pod: Pod, stand_ins: AbstractSet[str]) -> PodView | None:
        """A job's pod. An adopted workload's are those that its own controller made."""
        named, namespace = named_job(pod), pod.metadata.namespace
        uid = self._stand_in_of(pod, stand_ins) if self._adopted else ""
        if self._homes.get(uid) == namespace:
            return self._foreign_view(pod, uid, adopted_pod_view)
        is_own = self._homes.get(named) == namespace and named not in stand_ins
        return self._view(pod) if is_own else None

    def _stand_in_of(self, pod: Pod, stand_ins: AbstractSet[str]) -> str:
        """The uid of the job that stands for an adopted pod's workload, "" if it is no such pod.

        What made it may be gone before it is: it stays the job's that it was. A plain pod is its
        own home: nothing made it.
        """
        uid = self._adopted.get(controller_uid(pod), "") or self._adopted.get(pod.metadata.uid, "")
        known = self._foreign_views.get(pod.metadata.uid)
        if uid or known is None:
            return uid
        return known[1] if known[1] in stand_ins else ""

    def _kept(self, uid: str, pods: Sequence[PodView]) -> tuple[PodView, ...]:
        """A job's pods in order."""
        now, before = tuple(sorted(pods, key=_order)), self._by_job.get(uid, ())
        return before if same(before, now) else now

    def taken(self, unmanaged: Sequence[Pod]) -> Mapping[str, Taken]:
        """What unmanaged pods take of each node."""
        return self._taken.of(lambda: self._take(unmanaged), unmanaged)

    def _take(self, unmanaged: Sequence[Pod]) -> Mapping[str, Taken]:
        taken: dict[str, Taken] = defaultdict(Taken)
        for pod in unmanaged:
            node = _node_of(pod)
            if node and pod.status.phase not in ("Succeeded", "Failed"):
                part = taken[node]
                (part.leaving if _is_leaving(pod) else part.staying).append(self._requests_of(pod))
        return taken

    def of_target(self, pod: Pod, job_uid: str) -> PodView | None:
        """A pod of a job's target; None if it is unreadable."""
        return self._foreign_view(pod, job_uid, target_pod_view)

    def _foreign_view(
        self, pod: Pod, job_uid: str, view: Callable[[Pod, Requests, str], PodView]
    ) -> PodView | None:
        """A pod that another controller made for a job's workload; None if it is unreadable."""
        known = self._foreign_views.get(pod.metadata.uid)
        if known is None or known[0] is not pod or known[1] != job_uid:
            seen = readable(pod, lambda: view(pod, self._requests_of(pod), job_uid))
            known = self._foreign_views[pod.metadata.uid] = (pod, job_uid, seen)
        return known[2]

    def _view(self, pod: Pod) -> PodView | None:
        known = self._views.get(pod.metadata.uid)
        if known is None or known[0] is not pod:
            known = (pod, readable(pod, lambda: pod_view(pod, self._requests_of(pod))))
            self._views[pod.metadata.uid] = known
        return known[1]

    def _requests_of(self, pod: Pod) -> Requests:
        known = self._requests.get(pod.metadata.uid)
        if known is None or known[0] is not pod:
            known = self._requests[pod.metadata.uid] = (pod, countable_requests(pod))
        return known[1]

    def _forget_others(self, uids: set[str]) -> None:
        for known in (self._requests, self._views, self._foreign_views):
            for uid in known.keys() - uids:
                del known[uid]


def _node_of(pod: Pod) -> str:
    """The node of an unmanaged pod; a deleted job's pod may still be bound where it was sent.

    A pod being deleted is never bound, however long a finalizer keeps it.
    """
    may_be_bound = pod.metadata.deletion_timestamp is None and is_left_behind(pod)
    return pod.spec.node_name or (wanted_node(pod) if may_be_bound else "")


def _has_found_its_node(pod: Pod) -> bool:
    """Whether a pod is on a node, and neither about to leave nor failed."""
    stays = pod.metadata.deletion_timestamp is None and pod.status.phase != "Failed"
    return bool(pod.spec.node_name) and stays


def _is_leaving(pod: Pod) -> bool:
    """Whether an unmanaged pod is on its way out: it or its job is being deleted."""
    return pod.metadata.deletion_timestamp is not None or is_left_behind(pod)


def _order(pod: PodView) -> tuple[str, int, int, str]:
    return pod.role, pod.replica, pod.rank, pod.name
