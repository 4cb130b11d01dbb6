"""Give what placements leave free to jobs that wait, and to gangs that can grow."""

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
            _place_within_fair_share(greedy, job)
    fair = dict(greedy.ledger.placed)
    return max(greedy.fill(), fair, key=lambda found: score(problem, found))


def _place_within_fair_share(greedy: Greedy, job: Job) -> None:
    before = greedy.ledger.placed.get(job.name, ())
    greedy.place(job, Claim.FREE)
    added = [a for a in greedy.ledger.placed.get(job.name, ()) if a not in before]
    if added and is_beyond_fair_share(greedy.ledger, job):
        greedy.ledger.give_back(job, added)


def is_beyond_fair_share(ledger: Ledger, job: Job) -> bool:
    """Whether a queue of the job's holds more than its fair share of a type that the job has."""
    kinds = {assignment.gpu_type for assignment in ledger.placed[job.name]}
    queues = (
        ledger.problem.queue_by_name[name] for name in ledger.problem.queue_chain.get(job.queue, ())
    )
    return any(
        ledger.queue_used[queue.name, kind] > queue.fair[kind]
        for queue in queues
        for kind in kinds & queue.fair.keys()
    )
