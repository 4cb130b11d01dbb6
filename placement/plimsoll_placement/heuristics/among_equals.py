"""Choose between what no score tells apart, so that the pods to come can use most of what is left.

Which of several jobs of the same priority, urgency and age goes first, and, once all that start
have a place, whether one of them would now leave more to the pods to come elsewhere: those that
were placed after it have changed what is left.
"""

import math
from collections.abc import Sequence

from plimsoll_placement.model import Assignments, Job
from plimsoll_placement.placing.options import counts_alike, requests
from plimsoll_placement.placing.place import loss_alone, place
from plimsoll_placement.score.worth import worth
from plimsoll_placement.state.ledger import Ledger

ROUNDS = 4
MOST_PLACED_AGAIN = 256
"""Of more jobs that start, only the last are placed again: they are the least important."""


def best_first(ledger: Ledger, jobs: Sequence[Job]) -> list[Job]:
    """Jobs of one age: first those that gain most milli-GPUs beyond what others then lose.

    Gangs that no node alone has room for go before all others, being the hardest to place.
    """
    gains: dict[object, float] = {}

    def gain(job: Job) -> float:
        if not job.gang:
            return 0.0
        role = job.roles[0]
        kind = role.shape, role.least, role.pods_per_replica, tuple(role.yields), role.eligible
        if kind not in gains:
            losses = [loss_alone(ledger, each) for each in requests(ledger, job)]
            least = min(losses, default=math.inf)
            gains[kind] = role.least_gpu_milli - least if least < math.inf else math.inf
        return gains[kind]

    by_gain = [(gain(job), job) for job in jobs]
    return [job for _, job in sorted(by_gain, key=lambda pair: -pair[0])]


def place_again(ledger: Ledger, jobs: Sequence[Job]) -> None:
    """Place jobs that have just been placed where they now fit best, as long as any moves.

    Only gangs of one size on one node are. Their score stays the same or rises.
    """
    placed = [job for job in jobs if _may_be_placed_again(job, ledger.placed.get(job.name, ()))]
    for _ in range(ROUNDS):
        moved = [_is_placed_again(ledger, job) for job in placed[-MOST_PLACED_AGAIN:]]
        if not any(moved):
            return


def _may_be_placed_again(job: Job, placed: Assignments) -> bool:
    if not job.gang or job.pinned or job.companions or len(job.roles[0].counts) > 1:
        return False
    return len({name for each in placed for name in each.nodes}) == 1


def _is_placed_again(ledger: Ledger, job: Job) -> bool:
    """Place a job anew, no worse by its score; whether it has moved."""
    before = ledger.clear(job)
    least = _worth(ledger, job, before)
    for request in requests(ledger, job):
        if not counts_alike(ledger, job, before[0].gpu_type, request.gpu_type):
            continue
        after = place(ledger, request)
        if after is not None and _worth(ledger, job, after) >= least:
            return after != before
        if after is not None:
            ledger.give_back(job, after)
            break
    ledger.take(job, before)
    return False


def _worth(ledger: Ledger, job: Job, placed: Assignments) -> int:
    return worth(ledger.problem, job, placed, ledger.problem.priority_weight[job.priority])
