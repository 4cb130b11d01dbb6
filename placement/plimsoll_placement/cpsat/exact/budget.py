"""What the gangs of a scope may lose within the disruption budget."""

from plimsoll_placement.cpsat.exact.linear import no_more_than
from plimsoll_placement.cpsat.exact.variables import Variables
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.score.budget import always_counted
from plimsoll_placement.score.price import lost_beyond


def limit_losses(variables: Variables) -> None:
    """Let gangs lose what those outside the scope leave of the allowance, or what they lose now."""
    scope = variables.remains.scope
    problem, counted = scope.problem, always_counted(scope.problem)
    if problem.loss_allowance is None or not counted:
        return
    baseline, now = problem.baseline or {}, dict.fromkeys((True, False), 0)
    for name in counted:
        job, placed = problem.job_by_name[name], scope.placements.get(name, ())
        now[name in scope.names] += lost_beyond(job, baseline.get(name, ()), placed)
    most = max(problem.loss_allowance - now[False], now[True])
    kept = [each for each in variables.kept if each.job.name in counted]
    total = Sum().add((each.stays, -counted[each.job.name]) for each in kept)
    no_more_than(variables.model, total, most - sum(counted[each.job.name] for each in kept))
