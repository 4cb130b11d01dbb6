"""A job as it would be after the edits that a user asks about."""

from typing import Any

from pydantic import ValidationError

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.api.refusal_text import refusals
from plimsoll.api.training_job import TrainingJob
from plimsoll_console.errors import BadQuestion
from plimsoll_console.messages.questions import RoleEdit, WhatIfRequest

Spec = dict[str, Any]


def edited(job: Job, edits: WhatIfRequest) -> Job:
    """The job with these edits. Raises BadQuestion, which names the field."""
    raw: dict[str, Any] = job.wire()
    spec: Spec = raw["spec"]
    for field, value in (
        ("priorityClassName", edits.priority_class_name),
        ("queue", edits.queue),
        ("suspend", edits.suspend),
    ):
        if value is not None:
            spec[field] = value
    if isinstance(job, TrainingJob):
        _edit_training(spec, job, edits)
    else:
        _edit_service(spec, job, edits)
    try:
        return type(job).model_validate(raw)
    except ValidationError as error:
        raise BadQuestion("; ".join(refusals(error))) from error


def _edit_training(spec: Spec, job: TrainingJob, edits: WhatIfRequest) -> None:
    if edits.types is not None:
        known = {each["type"]: each for each in spec.get("accelerators", ())}
        spec["accelerators"] = [known.get(name, {"type": name}) for name in edits.types]
    if edits.spot is not None:
        spec["spot"] = {**spec.get("spot", {}), "allowed": edits.spot}
    roles = {role["name"]: role.setdefault("replicas", {}) for role in spec.get("roles", ())}
    _edit_sizes({WORKER: spec["workers"], **roles}, edits.roles)
    if any(each.name == WORKER for each in edits.roles) and job.spec.workers.allowed:
        # They were allowed for another range.
        spec["workers"].pop("allowed")


def _edit_service(spec: Spec, job: InferenceJob, edits: WhatIfRequest) -> None:
    if job.spec.target_ref is not None:
        raise BadQuestion(
            "roles: a service with targetRef cannot be edited here: change its target"
        )
    for role in spec["roles"]:
        if edits.types is not None:
            role["profiles"] = [each for each in role["profiles"] if each["type"] in edits.types]
        if edits.spot is not None:
            role["spot"] = {**role.get("spot", {}), "allowed": edits.spot}
    _edit_sizes({role["name"]: role["replicas"] for role in spec["roles"]}, edits.roles)


def _edit_sizes(sizes: dict[str, Spec], edits: tuple[RoleEdit, ...]) -> None:
    for each in edits:
        if each.name not in sizes:
            listed = ", ".join(sorted(sizes))
            raise BadQuestion(f"roles: there is no role {each.name!r}: use one of {listed}")
        size = sizes[each.name]
        if each.min is not None:
            size["min"] = each.min
        if each.max is not None:
            size["max"] = each.max
