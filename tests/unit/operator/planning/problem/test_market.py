"""What a dollar counts where nodes can be bought: what it buys, by the preset."""

import pytest

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Weights
from support.clusters.seen import seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_policy, a_training_job, an_inference_job

PLAIN = Weights().gpu_seconds_per_dollar
HOUR = 3600
LATER = "2126-01-01T00:00:00Z"


def a_job(*, spot: bool = True) -> Manifest:
    """Four GPUs, which on an A100 do half of what they do on an H100."""
    rates = {H100: 4, A100: 2}
    return a_training_job("job", workers=4, rates=rates, spot={"allowed": spot})


def weight(*manifests: Manifest, preset: str = "Economy") -> int:
    snapshot = seen(*manifests, a_policy(objective={"preset": preset}))
    problem = plan_input_of(snapshot, ProblemBuilder()).problem
    return problem.weights.gpu_seconds_per_dollar


@pytest.mark.parametrize(("preset", "share"), [("Economy", 0.5), ("Balanced", 0.125)])
def test_a_dollar_counts_as_a_share_of_what_it_buys_where_that_is_most(
    preset: str, share: float
) -> None:
    dear, cheap = a_growing_pool(price="0.5"), a_growing_pool("a100", gpu_type=A100, price="0.1")
    assert weight(dear, a_job(), preset=preset) == share * HOUR / 0.5
    assert weight(dear, cheap, a_job(), preset=preset) == share * HOUR / 2 / 0.1


def test_it_never_counts_less_than_where_nothing_can_be_bought() -> None:
    assert weight(a_growing_pool(price="90"), a_job()) == 4 * PLAIN


@pytest.mark.parametrize(
    "manifests",
    [
        (a_growing_pool(price="1", sells=False), a_job()),
        (a_growing_pool(price="1", most=0), a_job()),
        (a_growing_pool(price="1", most=1), a_claim("h100-1"), a_job()),
        (a_growing_pool(price="1", most=1), a_node_of("h100", "there"), a_job()),
        (a_growing_pool(price="0"), a_job()),
        (a_growing_pool(price="1"), an_inference_job("serve", replicas=1)),
        (a_growing_pool(price="1", capacityType="Spot"), a_job(spot=False)),
    ],
)
def test_what_cannot_be_bought_for_a_gang_does_not_count(manifests: tuple[Manifest, ...]) -> None:
    assert weight(*manifests) == 4 * PLAIN


def test_a_pool_that_is_left_alone_for_want_of_nodes_does_not_count() -> None:
    pool = a_growing_pool(price="1")
    pool["status"] = {"provisioning": {"failures": 1, "retryTime": LATER}}
    assert weight(pool, a_job()) == 4 * PLAIN


def test_jobs_that_can_run_on_different_pools_count_by_their_median() -> None:
    pools = [a_growing_pool(price="2"), a_growing_pool("a100", gpu_type=A100, price="0.5")]
    only = [a_training_job(f"only-{n}", gpus=8, accelerators=[{"type": H100}]) for n in range(2)]
    assert weight(*pools, *only, a_job()) == 0.5 * HOUR / 2
