"""What is looked for among the bought nodes, in which order, and what stands."""

from dataclasses import replace

from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.trading.trade_search import Found, trade_search
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Placements
from support.clusters.fleets import a_job_on, bought, estimated, fleet_of
from support.clusters.seen import at
from support.objects.bought_nodes import a_claim, a_growing_pool
from support.objects.job_manifests import a_gpu_pod, a_policy, a_training_job

THRIFTY = a_policy(objective={"weights": {"money": "1"}})
DEAR, CHEAP = a_growing_pool("dear", price="50"), a_growing_pool("cheap", price="1")
A, B = bought("a", "dear"), bought("b", "dear")


def found(
    *manifests: Manifest,
    before: Found | None = None,
    is_quiet: bool = True,
    fails: bool = False,
) -> Found:
    """What a look finds; no problem can be solved if it `fails`."""
    fleet = replace(fleet_of(*manifests, THRIFTY), is_quiet=is_quiet)
    search = trade_search(fleet, before or Found(), ProblemBuilder())
    placements: Placements | None = None
    while True:
        try:
            problem = search.send(placements)
        except StopIteration as end:
            return end.value
        placements = None if fails else estimated(problem)


def test_a_node_that_can_go_at_once_goes_first() -> None:
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    outcome = found(DEAR, CHEAP, *A, *B, *jobs)
    assert outcome.emptied == "b"
    assert not outcome.bought.nodes


def test_no_node_goes_soon_after_somebody_waited_unless_others_have_come_for_it() -> None:
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    there = (DEAR, *A, *B, *jobs)
    assert found(*there, is_quiet=False).emptied is None
    assert found(*there, is_quiet=False, before=Found(replaced="a")).emptied == "a"


def test_nobody_moves_back_to_a_node_that_was_just_left() -> None:
    """Its pods are still ending there."""
    moved = a_job_on("b", "job", 4)
    ending = a_gpu_pod("job-worker-0", "a", gpus=4)
    cheap = bought("b", "cheap")
    assert found(DEAR, CHEAP, *A, *cheap, moved, ending).emptied is None


def test_the_dearest_node_is_replaced_first() -> None:
    dearest = a_growing_pool("dearest", price="90")
    jobs = (a_job_on("a", "one", 8), a_job_on("b", "two", 8))
    outcome = found(DEAR, dearest, CHEAP, *A, *bought("b", "dearest"), *jobs)
    assert outcome.replaced == "b"
    assert outcome.bought.nodes == {"cheap": 1}
    assert outcome.emptied is None, "the new one comes first"


def test_what_is_on_its_way_stands_and_nothing_else_is_begun() -> None:
    """A second trade would have the first one's node taken back."""
    there = (DEAR, CHEAP, *A, *B, a_job_on("a", "one", 8), a_job_on("b", "two", 8))
    first = found(*there)
    assert first.bought.nodes == {"cheap": 1}
    outcome = found(*there, a_claim("cheap-1", "cheap"), before=first)
    assert outcome.replaced == first.replaced
    assert not outcome.bought.nodes
    assert [each.order.name for of in outcome.bought.waiting.values() for each in of if each.order]


def test_what_does_not_pay_any_more_does_not_stand() -> None:
    there = (*A, *B, a_job_on("a", "one", 8), a_job_on("b", "two", 8))
    first = found(DEAR, CHEAP, *there)
    coming = a_claim("cheap-1", "cheap")
    outcome = found(DEAR, a_growing_pool("cheap", price="60"), *there, coming, before=first)
    assert not outcome.bought.waiting


def test_nodes_that_are_not_to_be_replaced_are_tried_again_once_all_have_been() -> None:
    """Each look has time for two."""
    names = ("a", "b", "c")
    there = [
        each for name in names for each in (*bought(name, "dear"), a_job_on(name, f"on-{name}", 8))
    ]
    first = found(DEAR, *there)
    assert len(first.tried) == 2
    second = found(DEAR, *there, before=first)
    assert second.tried == frozenset(), "the third has had its turn: they begin anew"


def test_a_node_that_is_too_old_keeps_no_other_from_being_tried_again() -> None:
    old = a_growing_pool("old", price="50", provisioning={"maxAge": "1m"})
    there = [old, DEAR, *bought("o", "old"), a_job_on("o", "on-o", 8), *A, a_job_on("a", "on-a", 8)]
    assert found(*there).tried == frozenset(), "the one that can be tried has had its turn"


def test_gangs_grow_where_that_pays_more() -> None:
    """To replace the gang's node by two costs a move for the same."""
    pool = a_growing_pool("h100", price="1")
    gang = at(a_training_job("gang", workers=(8, 16), rates={H100: {8: 8, 16: 16}}), *["a"] * 8)
    outcome = found(pool, *bought("a", "h100"), gang)
    assert outcome.bought.nodes == {"h100": 1}
    assert outcome.replaced is None


def test_a_search_that_fails_finds_nothing() -> None:
    outcome = found(DEAR, CHEAP, *A, a_job_on("a", "job", 4), fails=True)
    assert outcome.emptied is None
    assert not outcome.bought.waiting
