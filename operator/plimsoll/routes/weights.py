"""The weights that a route should have, from its annotations and what is ready of a service.

A backend stands for the ready replicas of one GPU type. Its weight is their number times what one
of them carries, in percent of one on the best type, so that each replica gets what it can serve.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.values.scalars import LABEL_VALUE_PATTERN
from plimsoll.observe.labels import BACKENDS, WEIGHTS_OF
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.serving.replicas import role_status
from plimsoll.planning.serving.router_weights import MOST, router_weights
from plimsoll.planning.serving.size_groups import ALL_SIZES
from plimsoll.routes.http_route import HTTPRoute, RouteRule

Operation = Mapping[str, object]
_LONGEST_SHOWN: Final = 80


class UnusableRouteError(Exception):
    """A route asks for weights that cannot be known; the message names the annotation."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The weight for one reference to a backend, by the places of its rule and in that."""

    rule: int
    place: int
    backend: str
    weight: int


def changed_weights(route: HTTPRoute, snapshot: Snapshot) -> list[Weight]:
    """The weights that differ from those that the route has.

    The backends of a rule keep theirs while none of them has a ready replica: a gateway answers for
    a rule whose weights are all 0, and no request would wait for a replica to come.

    Raises UnusableRouteError.
    """
    types, job = _backends(route), _service(route, snapshot)
    carried = _carried(job)
    _require_types(types, job)
    unknown = sorted(
        types.keys() - {ref.name for rule in route.spec.rules for ref in rule.backend_refs}
    )
    if unknown:
        raise UnusableRouteError(
            f"annotation {BACKENDS} names {unknown[0]}, to which no rule of the route refers:"
            " correct it, or add it to the backendRefs of a rule"
        )
    return [
        each
        for index, rule in enumerate(route.spec.rules)
        for each in _changes(index, rule, types, carried)
    ]


def operations(route: HTTPRoute, changes: Sequence[Weight]) -> list[Operation]:
    """The JSON patch (RFC 6902) for a route as it was seen; it fails if the route has changed."""
    version = route.metadata.resource_version
    same = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    return [same, *(_written(change) for change in changes)]


def _written(change: Weight) -> Operation:
    path = f"/spec/rules/{change.rule}/backendRefs/{change.place}/weight"
    return {"op": "add", "path": path, "value": change.weight}


def _changes(
    index: int, rule: RouteRule, types: Mapping[str, str], carried: Mapping[str, int]
) -> Iterator[Weight]:
    wanted = {name: carried.get(gpu_type, 0) for name, gpu_type in types.items()}
    ours = [ref for ref in rule.backend_refs if ref.name in wanted]
    if not any(wanted[ref.name] for ref in ours):
        return
    for place, ref in enumerate(rule.backend_refs):
        if ref.name in wanted and ref.weight != wanted[ref.name]:
            yield Weight(index, place, ref.name, wanted[ref.name])


def _backends(route: HTTPRoute) -> dict[str, str]:
    """The GPU type of each backend, by its name."""
    text = route.metadata.annotations.get(BACKENDS, "")
    found: dict[str, str] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, is_there, gpu_type = (part.strip() for part in entry.partition("="))
        if not (name and is_there and re.fullmatch(LABEL_VALUE_PATTERN, gpu_type)):
            raise UnusableRouteError(
                f"annotation {BACKENDS} has {entry[:_LONGEST_SHOWN]!r}, which is not"
                " BACKEND=GPU-TYPE: write it like chat-h100=NVIDIA-H100-80GB-HBM3, with commas"
                " between several"
            )
        found[name] = gpu_type
    if not found:
        raise UnusableRouteError(
            f"annotation {BACKENDS} is missing or empty: set it to the GPU type of each backend,"
            " like chat-h100=NVIDIA-H100-80GB-HBM3, chat-l4=NVIDIA-L4"
        )
    return found


def _require_types(types: Mapping[str, str], job: InferenceJob) -> None:
    """Refuse types that the service never runs on; without profiles it runs on any."""
    profiles = {profile.type for role in job.spec.roles[:1] for profile in role.profiles}
    others = sorted(set(types.values()) - profiles) if profiles else []
    if others:
        raise UnusableRouteError(
            f"annotation {BACKENDS} names GPU type {others[0]}, and the service has profiles of"
            f" {', '.join(sorted(profiles))} alone: correct it, or add a profile to the"
            " InferenceJob"
        )


def _service(route: HTTPRoute, snapshot: Snapshot) -> InferenceJob:
    meta = route.metadata
    name = meta.annotations.get(WEIGHTS_OF, "").strip()
    if not name:
        raise UnusableRouteError(
            f"annotation {WEIGHTS_OF} is missing or empty: set it to the name of the InferenceJob"
            " whose replicas the backends are"
        )
    view = snapshot.job_by_name.get(JobName(f"InferenceJob/{meta.namespace}/{name}"))
    if view is None or view.inference is None:
        raise UnusableRouteError(
            f"annotation {WEIGHTS_OF} names InferenceJob {name[:_LONGEST_SHOWN]}, which does not"
            f" exist in namespace {meta.namespace}: correct it, or create the InferenceJob"
        )
    return view.inference


def _carried(job: InferenceJob) -> Counter[str]:
    """What the ready replicas of the first role carry, by GPU type.

    One whose capacity is unknown counts as the best.
    """
    found = Counter[str]()
    for role in job.spec.roles[:1]:
        weights, status = router_weights(job, role, ALL_SIZES), role_status(job, role)
        for pool in status.pools if status is not None else ():
            found[pool.accelerator_type] += pool.ready * weights.get(pool.accelerator_type, MOST)
    return found
