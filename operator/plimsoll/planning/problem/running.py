"""What a job holds according to its status, as the solver's assignments."""

from collections.abc import Mapping

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.serving.size_groups import ALL_SIZES, Groups, group_of, groups_of, part_name
from plimsoll_placement.model import Assignment, Assignments, GpuType, NodeName


def running_assignments(resource: TrainingJob | InferenceJob) -> Assignments:
    """The assignments of the placement in a job's status."""
    placement = resource.status.placement
    groups = _groups_by_role(resource)
    return tuple(
        Assignment(
            part_name(each.role, group_of(each, groups.get(each.role, (ALL_SIZES,)))),
            each.replica,
            GpuType(each.accelerator_type),
            tuple(NodeName(name) for name in each.nodes),
        )
        for each in (placement.assignments if placement else ())
    )


def _groups_by_role(resource: TrainingJob | InferenceJob) -> Mapping[str, Groups]:
    if isinstance(resource, TrainingJob):
        return {}
    return {role.name: groups_of(resource, role) for role in resource.spec.roles}
