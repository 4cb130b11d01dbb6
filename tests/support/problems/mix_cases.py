"""Small problems of GPU mixes for tests, stating only what a test is about."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from plimsoll_placement.estimate.mix.problem import (
    Mix,
    MixProblem,
    Model,
    ModelName,
    Option,
    PoolName,
)

BIG, SMALL = PoolName("A100"), PoolName("T4")
POOLS = (BIG, SMALL, PoolName("T4-spot"))


def an_option(
    carries: int | Sequence[int], dollars: int, *, pool: PoolName = SMALL, gpus: int = 1
) -> Option:
    """A replica that carries so much of one bucket, or of each."""
    each = (carries,) if isinstance(carries, int) else tuple(carries)
    return Option(pool, gpus, dollars * 10**6, each)


def a_model(
    loads: int | Sequence[int], *options: Option, name: str = "model", priority: int = 0
) -> Model:
    """A model with one bucket, or several."""
    each = (loads,) if isinstance(loads, int) else tuple(loads)
    return Model(ModelName(name), each, options, priority)


def a_problem(*models: Model, supply: Mapping[PoolName, int]) -> MixProblem:
    """The models with what there is."""
    return MixProblem(models, supply)


def replicas(mix: Mix) -> list[tuple[int, ...]]:
    """How many of each option, model by model."""
    return [served.replicas for served in mix.served]


def dollars(mix: Mix) -> float:
    """An hour."""
    return mix.microdollars / 10**6


@st.composite
def mix_problems(draw: st.DrawFn, *, most_buckets: int = 2) -> MixProblem:
    """One to three models on two or three pools, in plenty or not."""
    supply = {pool: draw(st.integers(0, 6)) for pool in POOLS[: draw(st.integers(2, 3))]}
    models = tuple(
        draw(_models(name, most_buckets)) for name in ("a", "b", "c")[: draw(st.integers(1, 3))]
    )
    return MixProblem(models, supply)


def _models(name: str, most_buckets: int) -> SearchStrategy[Model]:
    return st.integers(1, most_buckets).flatmap(
        lambda buckets: st.builds(
            Model,
            st.just(ModelName(name)),
            st.tuples(*[st.integers(0, 25)] * buckets),
            st.lists(_options(buckets), max_size=3).map(tuple),
            st.integers(0, 1),
        )
    )


def _options(buckets: int) -> SearchStrategy[Option]:
    return st.builds(
        Option,
        st.sampled_from(POOLS),
        st.integers(1, 3),
        st.integers(1, 12).map(lambda price: price * 500_000),
        st.tuples(*[st.integers(0, 14)] * buckets),
    )
