"""The nodes that a pool is to have whether or not jobs wait."""

from collections.abc import Iterable

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.standing_need import missing_nodes
from plimsoll.planning.provisioning.future_nodes import FutureNode, future_nodes
from plimsoll.planning.provisioning.idle_nodes import in_use
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_training_job

TWO_OR_MORE = a_growing_pool(provisioning={"min": 2})
ONE_SPARE = a_growing_pool(provisioning={"headroom": 1})


def bought(name: str) -> list[Manifest]:
    """A node that was bought and has arrived."""
    return [a_claim(f"h100-{name}", node=name, arrived=True), a_node_of("h100", name)]


def missing(*manifests: Manifest, awaited: Iterable[str] = ()) -> int:
    """How many nodes the pool lacks, of whose orders some are `awaited` by jobs."""
    snapshot = seen(*manifests)
    coming = [each for each in future_nodes(snapshot, frozenset()) if each.order is not None]
    spoken_for: list[FutureNode] = [
        each for each in coming if each.order is not None and each.order.name in {*awaited}
    ]
    problem = plan_input_of(snapshot, ProblemBuilder()).problem
    used = in_use(snapshot, frozenset())
    return missing_nodes(snapshot.pools[0], snapshot, used, spoken_for, problem)


def test_the_fewest_nodes_count_those_that_are_there_and_on_their_way() -> None:
    assert missing(TWO_OR_MORE) == 2
    assert missing(TWO_OR_MORE, a_claim("h100-1")) == 1
    assert missing(TWO_OR_MORE, a_claim("h100-1"), *bought("a")) == 0


def test_a_node_that_is_too_old_is_replaced() -> None:
    pool = a_growing_pool(provisioning={"min": 1, "maxAge": "1m"})
    assert missing(pool, *bought("a")) == 1
    assert missing(pool, *bought("a"), a_claim("h100-1")) == 0


def test_a_spare_node_is_one_that_no_job_has_or_waits_for() -> None:
    assert missing(ONE_SPARE) == 1
    assert missing(ONE_SPARE, *bought("a")) == 0
    assert missing(ONE_SPARE, *bought("a"), at(a_training_job("job", gpus=1), "a")) == 1
    assert missing(ONE_SPARE, a_claim("h100-1")) == 0
    assert missing(ONE_SPARE, a_claim("h100-1"), awaited=["h100-1"]) == 1


def test_what_a_job_holds_beyond_its_least_size_is_spare() -> None:
    grown = at(a_training_job("grown", workers=(1, 2), gpus=8), "a", "b")
    assert missing(ONE_SPARE, *bought("a"), *bought("b"), grown) == 0
    fixed = at(a_training_job("fixed", workers=2, gpus=8), "a", "b")
    assert missing(ONE_SPARE, *bought("a"), *bought("b"), fixed) == 1
