"""A greedy choice by price alone: the cheapest per unit of load first, while it lasts.

It always answers and keeps to the supply, but takes what is cheap for a model that could do without
from one that could not, and pays for replicas that are hardly used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from plimsoll_placement.estimate.mix.problem import Mix, MixProblem, Model, PoolName, Served, cost


@dataclass(frozen=True, slots=True)
class _Offer:
    """One option of one model for one of its buckets, by index."""

    model: int
    option: int
    bucket: int


class _Rented:
    """What is rented so far of one model: replicas, their idle time, the loads that they carry."""

    __slots__ = ("_idle", "_left", "_loads", "_model", "_replicas")

    def __init__(self, model: Model) -> None:
        self._model = model
        self._left = [Fraction(load) for load in model.loads]
        self._replicas = [0] * len(model.options)
        self._idle = [Fraction(0)] * len(model.options)
        self._loads = [[Fraction(0)] * len(model.loads) for _ in model.options]

    def rent(self, offer: _Offer, free: dict[PoolName, int]) -> None:
        """Carry what is left of the bucket, in idle time first, as far as the pool goes."""
        option, place = self._model.options[offer.option], offer.option
        carries = option.carries[offer.bucket]
        lacking = self._left[offer.bucket] / carries - self._idle[place]
        more = max(0, min(-(-lacking // 1), free.get(option.pool, 0) // option.gpus))
        if more:
            free[option.pool] -= more * option.gpus
        taken = min(self._left[offer.bucket], (self._idle[place] + more) * carries)
        self._replicas[place] += more
        self._idle[place] += more - taken / carries
        self._left[offer.bucket] -= taken
        self._loads[place][offer.bucket] += taken

    def served(self) -> Served:
        """As it stands."""
        loads = tuple(tuple(float(load) for load in loads) for loads in self._loads)
        return Served(tuple(self._replicas), loads)


def cheapest_first(problem: MixProblem) -> Mix:
    """The cheapest way to carry each unit of load, in the order of price and priority."""
    free = dict(problem.supply)
    rented = [_Rented(model) for model in problem.models]
    for offer in sorted(_offers(problem), key=lambda offer: _rank(problem, offer)):
        rented[offer.model].rent(offer, free)
    served = tuple(each.served() for each in rented)
    return Mix(served, cost(problem, served), 0, is_least_unserved=False)


def _offers(problem: MixProblem) -> Iterator[_Offer]:
    for place, model in enumerate(problem.models):
        for number, option in enumerate(model.options):
            for bucket, carries in enumerate(option.carries):
                if carries > 0:
                    yield _Offer(place, number, bucket)


def _rank(problem: MixProblem, offer: _Offer) -> tuple[int, Fraction]:
    model = problem.models[offer.model]
    option = model.options[offer.option]
    return -model.priority, Fraction(option.microdollars, option.carries[offer.bucket])
