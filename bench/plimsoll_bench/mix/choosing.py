"""Choose the mix to rent: the cheapest that carries all load, or if supply is short, the most.

The greedy mix stands until something better is found and verified. A search looks for the cheapest
that carries everything; only if there is none, or none was found, one search per priority asks how
little can be left unserved, and a last one for the least cost at that. All of them share the
effort.
"""

from collections.abc import Iterable
from dataclasses import replace

from plimsoll_bench.mix.check import mix_mistakes
from plimsoll_bench.mix.greedy import cheapest_first
from plimsoll_bench.mix.integer_program import Found, Target, found, least, most
from plimsoll_bench.mix.scip import Effort
from plimsoll_placement.estimate.mix.problem import (
    Mix,
    MixProblem,
    Served,
    cost,
    unserved_by_priority,
)

DEFAULT_EFFORT = Effort(nodes=20_000)
"""Without a clock, so that the same problem has the same answer."""


def cheapest_mix(problem: MixProblem, effort: Effort = DEFAULT_EFFORT) -> Mix:
    """What carries the most, by priority, for the least; with the gap to what is proven."""
    first = cheapest_first(problem)
    carries_all = not any(unserved_by_priority(problem, first.served))
    if carries_all:
        cheapest = found(problem, Target(None, {}), effort, first.served)
        return _best(problem, (replace(first, is_least_unserved=True), *_all(problem, cheapest)))
    cheapest = found(problem, Target(None, {}), effort.shared_by(2))
    if cheapest is not None:
        return _best(problem, (first, *_all(problem, cheapest)))
    share = effort.shared_by(2 * (len(problem.priorities) + 1))
    return _best(problem, (first, *_scarce(problem, share, first.served)))


def _all(problem: MixProblem, answer: Found | None) -> Iterable[Mix]:
    """The mix of an answer that carries everything, if there is one."""
    return () if answer is None else (_mix(problem, answer, is_least_unserved=True),)


def _scarce(problem: MixProblem, effort: Effort, hint: tuple[Served, ...]) -> Iterable[Mix]:
    """The least unserved of each priority in turn, then the least cost."""
    left: dict[int, float] = {}
    proven = True
    everything = dict.fromkeys(problem.priorities, float("inf"))
    for place, priority in enumerate(problem.priorities):
        answer = found(problem, Target(priority, everything | left), effort, hint)
        if answer is None:
            return
        hint = answer.served
        left[priority] = most(unserved_by_priority(problem, hint)[place])
        proven = proven and answer.is_best
    answer = found(problem, Target(None, left), effort, hint)
    yield Mix(hint, cost(problem, hint), 0, is_least_unserved=proven)
    if answer is not None:
        yield _mix(problem, answer, is_least_unserved=proven)


def _mix(problem: MixProblem, answer: Found, *, is_least_unserved: bool) -> Mix:
    dollars = cost(problem, answer.served)
    bound = dollars if answer.is_best else min(dollars, least(answer.bound))
    return Mix(answer.served, dollars, bound, is_least_unserved)


def _best(problem: MixProblem, mixes: Iterable[Mix]) -> Mix:
    """The best of those that are sound; what was proven beside another holds for it too."""
    sound = [mix for mix in mixes if not mix_mistakes(problem, mix)]
    best = min(sound, key=lambda mix: (unserved_by_priority(problem, mix.served), mix.microdollars))
    bound = max(mix.bound_microdollars for mix in sound)
    return Mix(
        best.served,
        best.microdollars,
        min(bound, best.microdollars),
        any(mix.is_least_unserved for mix in sound),
    )
