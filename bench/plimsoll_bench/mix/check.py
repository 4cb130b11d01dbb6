"""What must hold of a mix of GPUs for inference, and what it costs.

As with plans, this reads nothing but the problem and the answer.
"""

from collections import Counter
from collections.abc import Iterator

from plimsoll_placement.estimate.mix.problem import (
    NEGLIGIBLE,
    Mix,
    MixProblem,
    Model,
    PoolName,
    Served,
)


def mix_mistakes(problem: MixProblem, mix: Mix) -> tuple[str, ...]:
    """Everything that is wrong with an answer, in words; empty if it is sound."""
    if len(mix.served) != len(problem.models):
        return (f"{len(mix.served)} models are answered for, not {len(problem.models)}",)
    pairs = list(zip(problem.models, mix.served, strict=True))
    shapes = [mistake for pair in pairs for mistake in _misshapen(*pair)]
    if shapes:
        return tuple(shapes)
    return (
        *(mistake for pair in pairs for mistake in _overloaded(*pair)),
        *_oversold(problem, mix),
        *_misstated(problem, mix),
    )


def _misshapen(model: Model, served: Served) -> Iterator[str]:
    """Every option has a count, and a load for each bucket."""
    buckets = [len(loads) for loads in served.loads]
    if len(served.replicas) != len(model.options) or buckets != [len(model.loads)] * len(
        model.options
    ):
        yield f"model {model.name} is not answered option by option and bucket by bucket"


def _overloaded(model: Model, served: Served) -> Iterator[str]:
    """Replicas carry no more than they can, and of no bucket more than there is."""
    for number, option in enumerate(model.options):
        busy = 0.0
        for load, carries in zip(served.loads[number], option.carries, strict=True):
            if load < 0 or (load > 0 and carries <= 0):
                yield f"model {model.name} puts {load} on option {number}, which carries {carries}"
            elif load > 0:
                busy += load / carries
        replicas = served.replicas[number]
        if replicas < 0 or busy > replicas * (1 + NEGLIGIBLE):
            yield f"model {model.name} needs {busy} replicas of option {number}, not {replicas}"
    for bucket, load in enumerate(model.loads):
        carried = sum(loads[bucket] for loads in served.loads)
        if carried > load * (1 + NEGLIGIBLE):
            yield f"model {model.name} carries {carried} of bucket {bucket}, which has {load}"


def _oversold(problem: MixProblem, mix: Mix) -> Iterator[str]:
    """No pool gives more GPUs than it has."""
    taken: Counter[PoolName] = Counter()
    for model, served in zip(problem.models, mix.served, strict=True):
        for option, count in zip(model.options, served.replicas, strict=True):
            taken[option.pool] += option.gpus * count
    for pool, gpus in sorted(taken.items()):
        if gpus > problem.supply.get(pool, 0):
            yield f"pool {pool} gives {gpus} GPUs of {problem.supply.get(pool, 0)}"


def _misstated(problem: MixProblem, mix: Mix) -> Iterator[str]:
    """The cost is as stated, and no less than the bound."""
    dollars = sum(
        option.microdollars * count
        for model, served in zip(problem.models, mix.served, strict=True)
        for option, count in zip(model.options, served.replicas, strict=True)
    )
    if dollars != mix.microdollars:
        yield f"the cost is {dollars} micro-dollars, not {mix.microdollars}"
    if mix.bound_microdollars > dollars:
        yield f"the bound {mix.bound_microdollars} is above the cost {dollars}"
