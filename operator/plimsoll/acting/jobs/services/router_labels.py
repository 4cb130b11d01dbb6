"""Label a service's pods for the selectors and weights of routers.

With their GPU type, with how much a replica carries, and where requests are routed by size, with
the sizes they take. A size whose replicas are not ready yet is taken by all that are.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from plimsoll.acting.conditions.replicas import ready_replicas
from plimsoll.acting.step import LabelChange
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.values.scalars import LABEL_VALUE_PATTERN
from plimsoll.observe.labels import GPU_TYPE, WEIGHT
from plimsoll.observe.snapshot import PodView
from plimsoll.planning.serving.router_weights import router_weights
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
    """The labels of a replica's pods for routers."""
    role = next(role for role in job.spec.roles if role.name == place.role)
    sizes = size_labels(job, role, place, serving.get(role.name, ()))
    gpu_type = place.accelerator_type
    weight = router_weights(job, role, group_of(place, groups_of(job, role))).get(gpu_type)
    weights = {WEIGHT: str(weight)} if weight is not None else {}
    types = {GPU_TYPE: gpu_type} if re.fullmatch(LABEL_VALUE_PATTERN, gpu_type) else {}
    return {**types, **weights, **sizes}


def relabelled(
    job: InferenceJob,
    places: Iterable[Assignment],
    pods: Iterable[PodView],
    serving: Mapping[str, Collection[str]],
) -> Iterator[LabelChange]:
    """The label changes for pods that stay."""
    by_replica = {(place.role, place.replica): place for place in places}
    wanted = {key: labels_of(job, place, serving) for key, place in by_replica.items()}
    for pod in pods:
        labels = wanted.get((pod.role, pod.replica))
        if labels is None or pod.deleting:
            continue
        gone = dict.fromkeys(key for key in pod.labels if _is_ours(key) and key not in labels)
        new = {key: value for key, value in labels.items() if pod.labels.get(key) != value}
        if gone or new:
            yield LabelChange(pod, {**gone, **new})


def _is_ours(label: str) -> bool:
    return label.startswith(SIZES) or label in (GPU_TYPE, WEIGHT)
