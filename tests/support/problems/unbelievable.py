"""Jobs in memory that no model would let through: what is done about what nobody has thought of."""

from collections.abc import Iterable
from dataclasses import replace

from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.observer import Objects


def without_workers(objects: Objects, *names: str) -> Objects:
    """The objects, with a hole in the spec of some training jobs."""
    return replace(objects, resources=[_broken(each, names) for each in objects.resources])


def _broken(resource: Resource, names: Iterable[str]) -> Resource:
    if not isinstance(resource, TrainingJob) or resource.metadata.name not in names:
        return resource
    spec = resource.spec.model_copy(update={"workers": None})
    return resource.model_copy(update={"spec": spec})
