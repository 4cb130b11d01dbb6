"""A job's pod template as its pods are made of it: read before anything is made, or refused whole.

The API keeps fields that it does not name, so these may hold anything. Of what is read here, or
must be understood of the pod later, each field is as Kubernetes has it, or the error names it.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, cast

import msgspec

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import InvalidTemplate
from plimsoll.kube.objects import Container, ObjectMeta, PodSpec, Wire

Manifest = dict[str, Any]

_NOT_UNDERSTOOD: Final = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)
"""What is raised over a wrong type, a number out of range, or a template nested too deeply."""


class _Variable(Wire, frozen=True):
    name: str = ""


class _Mount(Wire, frozen=True):
    mount_path: str = ""


class _Volume(Wire, frozen=True):
    name: str = ""


class _MadeContainer(Container, frozen=True):
    env: tuple[_Variable, ...] = ()
    volume_mounts: tuple[_Mount, ...] = ()


class _MadeSpec(PodSpec, frozen=True):
    containers: tuple[_MadeContainer, ...] = ()
    volumes: tuple[_Volume, ...] = ()


class _MadeTemplate(Wire, frozen=True):
    """What of a template pods are made of: what is added to, and what is read of the pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _MadeSpec = _MadeSpec()


def template_of(job: Job, role: str) -> PodTemplate:
    """The template of a role; KeyError where the job has no such role."""
    if isinstance(job, TrainingJob):
        return job.spec.workers.template
    for each in job.spec.roles:
        if each.name == role:
            return each.template
    raise KeyError(role)


def readable_template(job: Job, role: str) -> Manifest:
    """The template on the wire, without its nulls; raises InvalidTemplate."""
    with understood(job, role):
        found: Manifest = _without_nulls(template_of(job, role).wire())
        msgspec.convert(found, _MadeTemplate)
    return found


@contextmanager
def understood(job: Job, role: str) -> Generator[None]:
    """Read a role's template; what goes wrong with that is an InvalidTemplate that says where."""
    try:
        yield
    except _NOT_UNDERSTOOD as error:
        where, what = _path(job, role), str(error)
        said, at, field = what.rpartition(" - at `$")
        problem = f"{where}{field.rstrip('`')}: {said}" if at else f"{where}: {what}"
        raise InvalidTemplate(f"{problem}; write it as in a pod") from error


def _path(job: Job, role: str) -> str:
    if isinstance(job, InferenceJob):
        names = [each.name for each in job.spec.roles]
        return f"spec.roles[{names.index(role)}].template"
    return "spec.workers.template"


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same without fields that are null, which says no more than that they are not there."""
    match value:
        case dict():
            fields = cast("Manifest", value)
            return {key: _without_nulls(each) for key, each in fields.items() if each is not None}
        case list():
            return [_without_nulls(each) for each in cast("list[Any]", value)]
        case _:
            return value
