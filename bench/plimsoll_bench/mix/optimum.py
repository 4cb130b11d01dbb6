"""The exact optimum of a mix by independent code: CP-SAT, in whole micro-dollars.

Several programs, one after the other: for each priority, highest first, the most worth served, then
the least cost at that. Worth is as the plan counts it: what load takes of the profile that carries
most. If all is served, the last has additional cuts from dynamic programming, one for each model:
the least cost of covering its load when each GPU also costs what the linear relaxation would pay
for one more of its type. If some option is the cheapest for a unit of load, an optimum exists with
a few of the others and otherwise only that one, so the cost depends on the remainder of the load
modulo what that one carries: a shortest path over its residues (Gomory's group relaxation). It is a
lower bound, whatever the supply is.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from ortools.sat.python import cp_model

from plimsoll_bench.mix.scarcity import scarcity_in
from plimsoll_placement.estimate.mix.problem import MixProblem, Model, PoolName, Served

FAR = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, slots=True)
class Optimum:
    """Users unserved and micro-dollars per hour, with a bound; None where it is not proven."""

    unserved: int | None
    microdollars: int | None
    bound_microdollars: float | None


@dataclass(frozen=True, slots=True)
class _Program:
    """The CP-SAT model and its variables, by model: replicas, and what is served of the worth."""

    model: cp_model.CpModel
    replicas: list[list[cp_model.IntVar]]
    served: list[cp_model.IntVar]


def optimum(
    problem: MixProblem, worths: Sequence[int], known: Sequence[Served], seconds: float
) -> Optimum:
    """What is proven of models with one bucket each, in this many seconds per program.

    `worths` are what the whole load of each model counts; of a part, its part, rounded down. Of
    several optima it is `known`, where the search starts, if that is one.
    """
    most: dict[int, int] = {}
    for priority in problem.priorities:
        program = _program(problem, worths, most)
        program.model.maximize(_served(problem, program, priority))
        solver = _solver(seconds)
        if solver.solve(program.model) != cp_model.OPTIMAL:
            return Optimum(None, None, None)
        most[priority] = round(solver.objective_value)
    cheapest = _program(problem, worths, most)
    if sum(most.values()) == sum(worths):
        _cut(problem, cheapest)
    cheapest.model.minimize(_cost(problem, cheapest))
    for replicas, served in zip(cheapest.replicas, known, strict=True):
        for variable, count in zip(replicas, served.replicas, strict=True):
            cheapest.model.add_hint(variable, count)
    solver = _solver(seconds)
    if solver.solve(cheapest.model) != cp_model.OPTIMAL:
        return Optimum(None, None, solver.best_objective_bound)
    cost = round(solver.objective_value)
    return Optimum(_unserved(problem, cheapest, solver), cost, solver.best_objective_bound)


def _solver(seconds: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.linearization_level = 2
    solver.parameters.cp_model_probing_level = 0
    return solver


def _program(problem: MixProblem, worths: Sequence[int], most: Mapping[int, int]) -> _Program:
    """What holds of every mix, and that as much is served of the priorities in `most`."""
    program = _Program(cp_model.CpModel(), [], [])
    taken: dict[PoolName, list[cp_model.LinearExprT]] = defaultdict(list)
    for model, worth in zip(problem.models, worths, strict=True):
        (load,) = model.loads
        served = program.model.new_int_var(0, worth, "")
        replicas: list[cp_model.IntVar] = []
        for option in model.options:
            gpus = problem.supply.get(option.pool, 0)
            useful = min(gpus // option.gpus, -(-load // option.carries[0]))
            replicas.append(program.model.new_int_var(0, useful, ""))
            taken[option.pool].append(option.gpus * replicas[-1])
        carried = sum(o.carries[0] * n for o, n in zip(model.options, replicas, strict=True))
        program.model.add(load * served <= worth * carried)
        program.replicas.append(replicas)
        program.served.append(served)
    for pool, gpus in taken.items():
        program.model.add(sum(gpus) <= problem.supply.get(pool, 0))
    for priority, least in most.items():
        program.model.add(_served(problem, program, priority) >= least)
    return program


def _served(problem: MixProblem, program: _Program, priority: int) -> cp_model.LinearExprT:
    return sum(
        served
        for model, served in zip(problem.models, program.served, strict=True)
        if model.priority == priority
    )


def _unserved(problem: MixProblem, program: _Program, solver: cp_model.CpSolver) -> int:
    """The users that a solution leaves out."""
    total = 0
    for model, replicas in zip(problem.models, program.replicas, strict=True):
        counts = zip(model.options, replicas, strict=True)
        carried = sum(option.carries[0] * solver.value(count) for option, count in counts)
        total += max(0, model.loads[0] - carried)
    return total


def _cost(problem: MixProblem, program: _Program) -> cp_model.LinearExprT:
    return sum(
        option.microdollars * count
        for model, replicas in zip(problem.models, program.replicas, strict=True)
        for option, count in zip(model.options, replicas, strict=True)
    )


def _cut(problem: MixProblem, program: _Program) -> None:
    """The least cost of each model, including the scarcity of its GPUs."""
    scarcity = scarcity_in(problem)
    for model, replicas in zip(problem.models, program.replicas, strict=True):
        if model.options:
            prices = _prices(model, scarcity)
            paid = sum(price * count for price, count in zip(prices, replicas, strict=True))
            program.model.add(paid >= covering_cost(model, prices))


def _prices(model: Model, scarcity: Mapping[PoolName, int]) -> list[int]:
    return [o.microdollars + o.gpus * scarcity.get(o.pool, 0) for o in model.options]


def covering_cost(model: Model, prices: list[int]) -> int:
    """A lower bound of what covering the load costs, with replicas of each option at its price."""
    (load,) = model.loads
    carries = [option.carries[0] for option in model.options]
    best = min(range(len(prices)), key=lambda number: Fraction(prices[number], carries[number]))
    size, price = carries[best], prices[best]
    # What a replica of each option costs more than its load would on the best, times `size`.
    excess = [each * size - units * price for each, units in zip(prices, carries, strict=True)]
    residues = np.arange(size)
    costs = np.full(size, FAR, dtype=np.int64)
    costs[0] = 0
    while True:
        cheaper = costs
        for each, units in zip(excess, carries, strict=True):
            cheaper = np.minimum(cheaper, cheaper[(residues - units) % size] + each)
        if np.array_equal(cheaper, costs):
            break
        costs = cheaper
    wasted = (residues - load) % size
    return (load * price + int((costs + wasted * price).min())) // size
