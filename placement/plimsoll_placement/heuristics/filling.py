"""Give what placements leave free to jobs that wait, and to gangs that can grow."""

from plimsoll_placement.heuristics.greedy import Greedy
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.state.holding import ledger_after


def filled(problem: Problem, placements: Placements) -> Placements:
    """The placements, and what fits beside them; nothing that is placed moves or stops.

    Jobs go first that keep their queues within their fair shares. The others follow where the
    result is better for it, by its score.
    """
    greedy = Greedy(problem, ledger_after(problem, placements))
    greedy.place_fairly(greedy.order)
    fair = dict(greedy.ledger.placed)
    more = greedy.fill()
    return fair if more == fair else max(more, fair, key=lambda found: score(problem, found))
