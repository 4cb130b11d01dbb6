"""Give what placements leave free to jobs that wait, and to gangs that can grow."""

from functools import partial

from plimsoll_placement.heuristics.greedy import Claim, Greedy
from plimsoll_placement.model import Job, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger


def filled(problem: Problem, placements: Placements) -> Placements:
    """The placements, and what fits beside them; nothing that is placed moves or stops.

    Jobs go first that keep their queues within their fair shares. The others follow where the
    result is better for it, by its score.
    """
    greedy = Greedy(problem, ledger_after(problem, placements))
    for job in greedy.order:
        if not greedy.is_satisfied(job):
            within = partial(is_within_fair_share, greedy.ledger, job)
            greedy.place_if(job, Claim.FREE, within)
    fair = dict(greedy.ledger.placed)
    more = greedy.fill()
    return fair if more == fair else max(more, fair, key=lambda found: score(problem, found))


def is_within_fair_share(ledger: Ledger, job: Job) -> bool:
    """Whether no queue of the job's holds more than its fair share of a type that the job has."""
    kinds = {assignment.gpu_type for assignment in ledger.placed[job.name]}
    queues = (
        ledger.problem.queue_by_name[name] for name in ledger.problem.queue_chain.get(job.queue, ())
    )
    return all(
        ledger.queue_used[queue.name, kind] <= queue.fair[kind]
        for queue in queues
        for kind in kinds & queue.fair.keys()
    )
