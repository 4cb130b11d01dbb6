"""Label a service's pods with the request sizes they take, for the selectors of routers.

Only where requests are routed by size. A size whose replicas are not ready yet is taken by all that
are.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from plimsoll.acting.conditions.replicas import ready_replicas
from plimsoll.acting.step import LabelChange
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.snapshot import PodView
from plimsoll.planning.serving.size_groups import SIZES, group_of, groups_of, size_labels


def serving_groups(
    job: InferenceJob, places: Iterable[Assignment], pods: Iterable[PodView]
) -> Mapping[str, Collection[str]]:
    """The size groups with at least one ready replica, by role."""
    placed = tuple(places)
    ready = ready_replicas(pods, placed)
    return {
        role.name: {
            group_of(place, groups_of(job, role))
            for place in placed
            if place.role == role.name and (place.role, place.replica) in ready
        }
        for role in job.spec.roles
        if role.requests == "BySize"
    }


def labels_of(
    job: InferenceJob, place: Assignment, serving: Mapping[str, Collection[str]]
) -> Mapping[str, str]:
    """The size labels of a replica's pods."""
    if place.role not in serving:
        return {}
    role = next(role for role in job.spec.roles if role.name == place.role)
    return size_labels(job, role, place, serving[place.role])


def relabelled(
    job: InferenceJob,
    places: Iterable[Assignment],
    pods: Iterable[PodView],
    serving: Mapping[str, Collection[str]],
) -> Iterator[LabelChange]:
    """The label changes for pods that stay."""
    by_replica = {(place.role, place.replica): place for place in places}
    for pod in pods:
        place = by_replica.get((pod.role, pod.replica))
        if place is None or pod.deleting:
            continue
        wanted = labels_of(job, place, serving)
        known = {key: value for key, value in pod.labels.items() if key.startswith(SIZES)}
        if wanted != known:
            yield LabelChange(pod, {**dict.fromkeys(known), **wanted})
