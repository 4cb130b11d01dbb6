"""Plain pods of PodGroups. Nobody makes them again, so once started they are left where they are.

They wait behind our scheduling gate one by one, from when they are created. A PodGroup's
`gang.minCount` is the number of its pods: all of these are planned together, or none.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from plimsoll.kube.http.resources import PODS, Resource
from plimsoll.kube.objects.objects import ObjectMeta
from plimsoll.kube.objects.workload_parts import WorkerTemplate, WorkloadObject
from plimsoll.kube.objects.workloads.pod_group import GroupedPod, PodGroup
from plimsoll.naming import first_few
from plimsoll.observe.adoption.kinds.adapter import Adapter, Candidate, PodSet, asks_for_gpus
from plimsoll.observe.adoption.workload_view import Operation, Outcome, WorkloadView
from plimsoll.observe.labels import GATE, JOB_UID, QUEUE, SETTINGS
from plimsoll.observe.queue_access import Refusal
from plimsoll.vocabulary.reasons import Reason

_MIN_COUNT: Final = "spec.schedulingPolicy.gang.minCount"
_DISRUPTION: Final = "disruption"
_NAMED: Final = 4


class PlainPods(Adapter[GroupedPod]):
    """The pods of PodGroups; one whose group does not ask to be planned is let go."""

    kind = "Pod"
    resource = PODS
    type = GroupedPod
    can_stop = False

    def pod_sets(self, item: GroupedPod, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The pod itself."""
        field = f"Pod/{item.metadata.name}"
        template = WorkerTemplate(ObjectMeta(labels=item.metadata.labels), item.spec)
        return (PodSet(field, "", field, 1, template),)

    def view(self, item: GroupedPod, _: Sequence[Candidate], /) -> WorkloadView:
        """How a pod stands."""
        gated = self.is_held(item)
        return WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=gated,
            at_rest=gated,
            parallelism=1,
            due=1,
        )

    def managed_by(self, item: GroupedPod) -> str:
        """Nobody: a pod has no such field."""
        del item
        return ""

    def is_suspended(self, item: GroupedPod) -> bool:
        """Whether it waits behind our scheduling gate."""
        return self.is_held(item)

    def is_over(self, item: GroupedPod) -> bool:
        """Whether it has ended."""
        return item.status.phase in ("Succeeded", "Failed")

    def let_go(self, candidate: Candidate) -> list[Operation]:
        """The JSON patch that takes our scheduling gate away; it then runs as it is."""
        return self.ungate(candidate)


class PodGroups(Adapter[PodGroup]):
    """PodGroups whose pods are a gang. Whoever creates one leaves it alone."""

    kind = "PodGroup"
    resource = Resource("scheduling.k8s.io", "v1alpha2", "podgroups")
    type = PodGroup
    creators = None
    makes = frozenset({("v1", "Pod")})
    hands_on_labels = True
    named_by_pods = True
    can_stop = False

    def pod_sets(self, item: PodGroup, children: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """Of those of its pods that wait behind our scheduling gate, as many as are its gang."""
        waiting = _Pods(children).waiting[: _size(item)]
        return tuple(pods for child in waiting for pods in child.pod_sets)

    def view(self, item: PodGroup, children: Sequence[Candidate], /) -> WorkloadView:
        """How its pods stand; it counts as suspended while they all wait behind our gate."""
        size, pods = _size(item), _Pods(children)
        return WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=not pods.sent,
            at_rest=False,
            parallelism=size,
            due=max(0, size - len(pods.succeeded)),
            outcome=_outcome(size, pods),
        )

    def managed_by(self, item: PodGroup) -> str:
        """Nobody: it has no such field."""
        del item
        return ""

    def is_suspended(self, item: PodGroup) -> bool:
        """It cannot be suspended."""
        del item
        return False

    def is_over(self, item: PodGroup) -> bool:
        """Its pods say whether it has ended, and others may follow these."""
        del item
        return False

    def is_held(self, item: PodGroup) -> bool:
        """Its pods are, each by itself."""
        del item
        return False

    def is_complete(self, candidate: Candidate) -> bool:
        """Whether its whole gang waits; of one that has started nothing is planned anew."""
        pods, size = _Pods(candidate.children), _size(candidate.item)
        waits = not pods.sent and not pods.strays and len(pods.waiting) >= size
        return waits or candidate.adapter.problem(candidate.item) is not None

    def awaits(self, candidate: Candidate) -> Refusal | None:
        """What its pods lack, and the remedy."""
        pods, size = _Pods(candidate.children), _size(candidate.item)
        if candidate.view.outcome is not None or self.problem(candidate.item) is not None:
            return None
        return (
            _strays(pods) or _missing(pods, size) or _too_many(pods, size) or _not_yet(pods, size)
        )

    def problem(self, item: WorkloadObject) -> str | None:
        """Why such a PodGroup cannot be planned, and the remedy."""
        if not _size(item):
            return (
                "spec.schedulingPolicy.basic: says not how many pods belong together: create the"
                " PodGroup with gang, and the number of its pods as minCount"
            )
        said = (key for key in item.metadata.annotations if key.startswith(SETTINGS))
        about = {key.removeprefix(SETTINGS).partition(".")[0] for key in said}
        if _DISRUPTION in about:
            return (
                f"annotation {SETTINGS}{_DISRUPTION}: plans never disturb a PodGroup that has"
                " started, as its pods are not made again: remove it"
            )
        return None


class _Pods:
    """The pods of a PodGroup, by what has become of them.

    Those `waiting` are behind our gate, those `sent` were placed by us, and `strays` were neither:
    they were created without the gate. Of those sent, some have `succeeded`, and some `failed`.
    """

    def __init__(self, children: Iterable[Candidate]) -> None:
        ordered = sorted(children, key=lambda child: child.item.metadata.name)
        waits = {id(child): _waits(child) for child in ordered}
        self.waiting = [child for child in ordered if waits[id(child)]]
        others = [child.item for child in ordered if not waits[id(child)]]
        pods = [item for item in others if isinstance(item, GroupedPod)]
        self.sent = [pod for pod in pods if pod.metadata.labels.get(JOB_UID)]
        self.strays = [pod for pod in pods if not pod.metadata.labels.get(JOB_UID)]
        self.succeeded = [pod for pod in self.sent if pod.status.phase == "Succeeded"]
        self.failed = [pod for pod in self.sent if _has_failed(pod)]


def _waits(child: Candidate) -> bool:
    """Whether a pod that asks for GPUs waits behind our gate."""
    return child.is_held and any(asks_for_gpus(each.template.spec) for each in child.pod_sets)


def _has_failed(pod: GroupedPod) -> bool:
    """Whether it has, and not only because somebody deletes it."""
    return pod.status.phase == "Failed" and pod.metadata.deletion_timestamp is None


def _size(item: WorkloadObject) -> int:
    """How many pods its gang has; 0 if it does not say."""
    gang = item.spec.scheduling_policy.gang if isinstance(item, PodGroup) else None
    return gang.min_count if gang is not None else 0


def _outcome(size: int, pods: _Pods) -> Outcome | None:
    for pod in pods.failed[:1]:
        status = pod.status
        why = ": ".join(filter(None, (status.reason, status.message)))
        said = f"pod {pod.metadata.name} failed" + (f" ({why})" if why else "")
        return Outcome(failed=True, message=f"{said}, and plain pods are not made again")
    if size and len(pods.succeeded) >= size:
        return Outcome(failed=False, message=f"{len(pods.succeeded)} pods succeeded")
    return None


def _names(pods: Sequence[GroupedPod]) -> str:
    return first_few([pod.metadata.name for pod in pods], _NAMED)


def _strays(pods: _Pods) -> Refusal | None:
    if not pods.strays:
        return None
    return Refusal(
        Reason.INVALID_SPEC,
        f"spec.schedulingGates of pods {_names(pods.strays)}: lacks {GATE}, so they wait for no"
        f" place: delete them, and create them with the label {QUEUE} and with GPUs, or without"
        " spec.schedulingGroup",
    )


def _missing(pods: _Pods, size: int) -> Refusal | None:
    there = len(pods.sent) + len(pods.waiting)
    if not pods.sent or there >= size:
        return None
    return Refusal(
        Reason.REPLICAS_MISSING,
        f"{size - there} of its {size} pods are gone, and nobody makes them again: create others,"
        " which go where those were, or delete the rest, and it is planned anew once all are there",
    )


def _too_many(pods: _Pods, size: int) -> Refusal | None:
    more = len(pods.sent) + len(pods.waiting) - size
    if more <= 0:
        return None
    return Refusal(
        Reason.INVALID_SPEC,
        f"{_MIN_COUNT}: is {size}, and {more} pods more wait for no place: delete them, or create a"
        " PodGroup whose minCount is the number of its pods",
    )


def _not_yet(pods: _Pods, size: int) -> Refusal | None:
    if pods.sent or len(pods.waiting) >= size:
        return None
    return Refusal(
        Reason.ADOPTED,
        f"planned once all its {size} pods wait behind the scheduling gate {GATE}, as many as"
        f" {_MIN_COUNT} says",
    )
