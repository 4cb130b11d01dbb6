"""The variables' values for given placements: the start of the search, and complete.

Sound placements satisfy every constraint with these values; that is what makes the model's bound a
bound for them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from plimsoll_placement.classes.options import Option
from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.builder import ModelBuilder
from plimsoll_placement.cpsat.variables import Fresh, GroupVariables, Service
from plimsoll_placement.model import Assignment, Assignments, Job, JobName
from plimsoll_placement.placing.retention import is_on_spot
from plimsoll_placement.score.worth import served_milli

Tally = Counter[int]
"""Values by the index of the variable."""


def values_of(builder: ModelBuilder, placements: Mapping[JobName, Assignments]) -> list[int]:
    """The value of every variable, by its index."""
    tally: Tally = Counter()
    for own in builder.variables.job_classes:
        for job in own.job_class.jobs:
            placed = placements.get(job.name, ())
            if placed and own.service is None:
                _count_gang(builder.relaxation, own, placed, tally)
            elif placed and own.service is not None:
                _count_replicas(builder.relaxation, own, job, placed, tally)
                _count_service(own.service, job, placed, tally)
    values = [tally[index] for index in range(builder.variables.count)]
    for variable, formula in builder.variables.derived:
        values[variable.index] = formula(values)
    return values


def _count_gang(
    relaxation: Relaxation, own: GroupVariables, placed: Assignments, tally: Tally
) -> None:
    for kept in own.kept:
        if set(placed) == set(kept.stay.units[0]):
            tally[kept.units.index] += 1
            return
    rows = {relaxation.problem.node_index[name] for a in placed for name in a.nodes}
    for fresh in own.fresh:
        if fresh.option.gpu_type == placed[0].gpu_type and _is_at(fresh.option, rows):
            _count_fresh_gang(relaxation, fresh, placed, tally)
            return


def _is_at(option: Option, rows: set[int]) -> bool:
    return option.domain_option.level is None or any(
        rows <= domain for domain in option.domain_option.domains
    )


def _count_fresh_gang(
    relaxation: Relaxation, fresh: Fresh, placed: Assignments, tally: Tally
) -> None:
    if fresh.runs is None:
        return
    tally[fresh.runs.index] += 1
    count = fresh.option.least
    for variable, segment in zip(fresh.growth, fresh.option.segments, strict=True):
        steps = min(segment.steps, (len(placed) - count) // segment.replicas)
        tally[variable.index] += steps
        count += steps * segment.replicas
    spot_last = sorted(placed, key=lambda a: is_on_spot(relaxation.problem, a))
    _count_pods(relaxation, fresh, spot_last[:count], tally)


def _count_pods(
    relaxation: Relaxation, fresh: Fresh, placed: Sequence[Assignment], tally: Tally
) -> None:
    variables = {pods.node_class: pods.variable for pods in fresh.pods if pods.variable is not None}
    for name in (name for assignment in placed for name in assignment.nodes):
        places = relaxation.node_classes.of_row.get(relaxation.problem.node_index[name], ())
        variable = next((variables[place] for place in places if place in variables), None)
        if variable is not None:
            tally[variable.index] += 1


def _count_replicas(
    relaxation: Relaxation, own: GroupVariables, job: Job, placed: Assignments, tally: Tally
) -> None:
    staying = {unit[0]: kept for kept in own.kept for unit in kept.stay.units}
    for assignment in placed:
        if assignment in staying and assignment in job.running:
            tally[staying[assignment].units.index] += 1
            continue
        for fresh in own.fresh:
            if (fresh.role.name, fresh.option.gpu_type) == (assignment.role, assignment.gpu_type):
                _count_pods(relaxation, fresh, (assignment,), tally)
                if fresh.count is not None:
                    tally[fresh.count.index] += 1


def _count_service(service: Service, job: Job, placed: Assignments, tally: Tally) -> None:
    tally[service.runs.index] += 1
    for role, variable in zip(job.roles, service.served, strict=True):
        mine = tuple(assignment for assignment in placed if assignment.role == role.name)
        tally[variable.index] += served_milli(job, mine)
    tally[service.kept.index] += min(served_milli(job, placed), served_milli(job, job.running))
