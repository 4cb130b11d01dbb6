"""Compare two plans: the cluster without a job, and with it."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from plimsoll.api.training_job import TrainingJob
from plimsoll.api.values.durations import duration_text
from plimsoll.cli.analysis.remedies import Explaining, gpu_hours, job_of, places_of
from plimsoll.cli.analysis.trial import Trial
from plimsoll.cli.inputs.entries import Key
from plimsoll.cli.output.explanation import moment
from plimsoll.cli.output.results import Cost, Moved, Simulated, Simulation, Why
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.problem.running import running_assignments
from plimsoll.planning.training.expected_end import work_seconds
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.check import violations
from plimsoll_placement.model import WHOLE_GPU_MILLI, Assignments, Job
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.score.worth import lost_work

_HOUR = 3600
_ONCE_WANTED = "as soon as its load asks for a replica"
_MICRO = 1_000_000


def simulation(before: Trial, after: Trial, applied: Collection[Key]) -> Simulation:
    """The outcome for everything applied, and the effect on other jobs."""
    views = {_key(view): view for view in after.snapshot.jobs}
    others = () if _changes_nothing(before, after) else tuple(_others(before, after, applied))
    explaining = Explaining(after)
    hold = {view.name for view in before.snapshot.jobs if running_assignments(view.resource)}
    is_in_the_way = any(
        each.gpu_hours_lost or (each.fate in _FREES and each.job in hold) for each in others
    )
    simulated = [
        _simulated(after, views[key], why, is_in_the_way=is_in_the_way)
        for key in applied
        if (why := explaining.why(views[key])) is not None
    ]
    return Simulation(
        applied=tuple(simulated),
        others=others,
        gpu_hours_lost=round(sum(other.gpu_hours_lost for other in others), 3),
    )


def _changes_nothing(before: Trial, after: Trial) -> bool:
    """Whether the plan without what is applied is as good with it, which then gets nothing.

    Plans that are equally good may differ in which of several equal jobs start.
    """
    problem, was = after.result.problem, before.result.solution.placements
    if after.result.solution.placements.keys() - before.result.problem.job_by_name.keys():
        return False
    if was.keys() - problem.job_by_name.keys() or violations(problem, was):
        return False
    return score(problem, was) >= score(problem, after.result.solution.placements)


def _key(view: JobView) -> Key:
    meta = view.resource.metadata
    return Key(view.resource.kind, meta.namespace, meta.name)


def _simulated(after: Trial, view: JobView, why: Why, *, is_in_the_way: bool) -> Simulated:
    job = job_of(after, view)
    assignments = () if job is None else after.result.placements.get(job.name, ())
    if job is None or not assignments:
        sleeps = why.job.reason == Reason.SCALED_TO_ZERO
        return Simulated(why, _ONCE_WANTED if sleeps else _later(why), None)
    starts = "as soon as the others have given way" if is_in_the_way else "now"
    return Simulated(why, starts, _cost(after, view, job, assignments))


def _later(why: Why) -> str:
    """When a job starts that waits, and when it would on nodes that could be bought."""
    wait = _without_buying(why)
    bought = why.job.purchase
    if bought is None:
        return wait
    after = duration_text(timedelta(seconds=bought.start_seconds))
    if not bought.nodes:
        return f"about {after} after its nodes were ordered"
    if not bought.within_budget:
        return wait
    price = f"${bought.dollars_per_hour:,.2f} an hour"
    return f"about {after} after its nodes are bought, for {price}; without them: {wait}"


def _without_buying(why: Why) -> str:
    start = why.earliest_start
    if start is None:
        return "unknown"
    if start.in_turn_at is None:
        return f"not before {moment(start.at)}; other waiting jobs go first"
    return f"about {moment(start.in_turn_at)}, when other jobs should have ended"


def _cost(after: Trial, view: JobView, job: Job, assignments: Assignments) -> Cost:
    dollars, watts = _price(after.result.problem, job, assignments)
    training = view.training
    gpu_type = assignments[0].gpu_type
    seconds = work_seconds(training, gpu_type, job.size(assignments)) if training else None
    late = _late_seconds(training, seconds, after.snapshot.now)
    if not dollars:
        return Cost(None, round(watts, 1), seconds, None, late)
    total = None if seconds is None else round(dollars * seconds / _HOUR, 2)
    return Cost(round(dollars, 4), round(watts, 1), seconds, total, late)


def _late_seconds(job: TrainingJob | None, seconds: int | None, now: datetime) -> int | None:
    """How long after its deadline a job ends that takes so long from now on."""
    work = job.spec.work if job is not None else None
    if work is None or work.deadline is None or seconds is None:
        return None
    late = seconds - int((work.deadline - now).total_seconds())
    return late if late > 0 else None


def _price(problem: Problem, job: Job, assignments: Assignments) -> tuple[float, float]:
    """Dollars per hour, and watts above idle."""
    microdollars, milliwatts = 0, 0
    for assignment in assignments:
        shape = job.role(assignment.role).shape
        for name in assignment.nodes:
            node = problem.nodes[problem.node_index[name]]
            microdollars += shape.gpu_milli * node.microdollars_per_gpu_hour
            milliwatts += shape.draw_milli * node.busy_milliwatts
    whole = WHOLE_GPU_MILLI
    return microdollars / whole / _MICRO, milliwatts / whole / 1000


_FREES = frozenset({"stops", "shrinks", "moves"})


def _others(before: Trial, after: Trial, applied: Collection[Key]) -> Iterator[Moved]:
    """The jobs in both plans that fare differently."""
    both = before.result.placements, after.result.placements
    for view in before.snapshot.jobs:
        planned = None if _key(view) in applied else job_of(before, view)
        if planned is None:
            continue
        job = replace(planned, running=running_assignments(view.resource))
        was, now = (placements.get(job.name, ()) for placements in both)
        alike = _where(was) == _where(now) if job.running else _what(was) == _what(now)
        if not alike:
            lost = lost_work(job, now) - lost_work(job, was)
            yield Moved(
                job=view.name,
                priority=view.priority,
                fate=_fate(job, was, now),
                before=places_of(job, was),
                after=places_of(job, now),
                gpu_hours_lost=gpu_hours(lost // WHOLE_GPU_MILLI),
            )


def _where(assignments: Assignments) -> list[tuple[object, ...]]:
    """Places without replica indices, which do not matter before the job has started."""
    return sorted((each.role, each.gpu_type, each.nodes) for each in assignments)


def _what(assignments: Assignments) -> Counter[tuple[str, str]]:
    """Replicas per GPU type; where they are does not matter before the job has started."""
    return Counter((str(each.role), str(each.gpu_type)) for each in assignments)


def _fate(job: Job, was: Assignments, now: Assignments) -> str:
    if not now:
        return "stops" if job.running else "waits instead of starting"
    if not was:
        return "starts instead of waiting"
    if len(was) != len(now):
        return "shrinks" if len(now) < len(was) else "grows"
    return "moves" if job.running else "starts on other GPUs"
