"""The books that the benchmark of bought nodes keeps, and what it takes for no result."""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace

import pytest

import karpenter
from plimsoll_bench.beside.book import Event, GangBook
from plimsoll_bench.karpenter.figures import Figures, figures_of
from plimsoll_bench.karpenter.gangs import drawn_gangs
from plimsoll_bench.karpenter.ledger import ClaimBook
from plimsoll_bench.karpenter.market import MOST_NODES, OFFERS, node_pool, price_of
from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, ZONE
from plimsoll_devcluster.karpenter.instance_types import EIGHT_A100, SPOT
from plimsoll_devcluster.manifest import Manifest
from support.objects.karpenter import INSTANCE_TYPE

WELL = Figures(
    nodes=2,
    dollars=1.5,
    seconds=60,
    wait_p50_s=5,
    wait_p95_s=9,
    half_bought_gangs=0,
    half_bought_node_seconds=0,
    idle_node_seconds=10,
    node_seconds=70,
    restarts=0,
    mixed_gangs=0,
)
ARGUMENTS = karpenter.parsed(["--json"])


def a_claim(uid: str, *, launched: bool = True, node: str = "", kind: str = "small") -> Manifest:
    conditions = [{"type": "Launched", "status": "True" if launched else "Unknown"}]
    metadata = {"uid": uid, "labels": {INSTANCE_TYPE: kind}}
    return {"metadata": metadata, "status": {"conditions": conditions, "nodeName": node}}


def a_pod(uid: str, phase: str = "Pending", *, bound: bool = True, node: str = "m") -> Manifest:
    spec = {"nodeName": node} if bound else {}
    return {"metadata": {"uid": uid}, "spec": spec, "status": {"phase": phase}}


def an_hour_costs_36(_labels: Mapping[str, str]) -> float:
    return 36.0


def seen(gang: GangBook, *pods: Manifest, at: float, kind: str = "MODIFIED") -> None:
    for pod in pods:
        gang.see(Event(at, kind, pod))


def test_a_node_costs_from_the_creation_of_its_claim_until_it_is_gone() -> None:
    book = ClaimBook(an_hour_costs_36)
    book.see(Event(100, "ADDED", a_claim("a", launched=False)))
    book.see(Event(105, "MODIFIED", a_claim("a")))
    book.see(Event(200, "MODIFIED", a_claim("a")))
    with pytest.raises(RuntimeError, match="1 NodeClaims are not deleted"):
        _ = book.dollars
    book.see(Event(300, "DELETED", a_claim("a")))
    assert (book.nodes, book.node_seconds, book.dollars) == (1, 200, 2)


def test_a_claim_for_which_nothing_was_launched_costs_nothing() -> None:
    book = ClaimBook(an_hour_costs_36)
    book.see(Event(100, "ADDED", a_claim("a", launched=False)))
    book.see(Event(300, "DELETED", a_claim("a", launched=False)))
    assert (book.left, book.nodes, book.dollars) == (0, 0, 0)


def test_a_gang_is_half_bought_while_only_some_of_its_workers_have_nodes() -> None:
    gang = GangBook(2, asked=0)
    seen(gang, a_pod("a", bound=False), a_pod("b", bound=False), at=1)
    seen(gang, a_pod("a", "Running"), at=10)
    assert gang.half_seconds(16) == 6
    seen(gang, a_pod("b"), at=20)
    seen(gang, a_pod("b", "Running"), at=21)
    assert (gang.longest_half, gang.half, gang.started, gang.ended) == (10, 10, 21, None)
    seen(gang, a_pod("a", "Succeeded"), a_pod("b", "Succeeded"), at=50)
    seen(gang, a_pod("a"), a_pod("b"), at=90, kind="DELETED")
    assert (gang.used, gang.half, gang.ended, gang.restarts) == (60, 10, 50, 0)


def test_a_gang_that_gives_up_begins_anew_and_has_not_ended() -> None:
    gang = GangBook(2, asked=0)
    seen(gang, a_pod("a", "Running"), a_pod("b", bound=False), at=10)
    seen(gang, a_pod("a"), a_pod("b", bound=False), at=15, kind="DELETED")
    assert (gang.restarts, gang.half, gang.half_seconds(20)) == (1, 5, 0)
    seen(gang, a_pod("c", "Running"), a_pod("d", "Running"), at=30)
    seen(gang, a_pod("c", "Succeeded"), at=40)
    assert gang.ended is None
    seen(gang, a_pod("d", "Succeeded"), at=41)
    assert (gang.started, gang.ended, gang.restarts) == (30, 41, 1)


def test_what_no_pod_had_of_the_nodes_paid_for_is_idle() -> None:
    book, gang = ClaimBook(an_hour_costs_36), GangBook(2, asked=0)
    for name, kind in (("m", "small"), ("n", "large")):
        book.see(Event(0, "ADDED", a_claim(name, node=name, kind=kind)))
        book.see(Event(100, "DELETED", a_claim(name)))
    seen(gang, a_pod("a", "Running"), at=10)
    seen(gang, a_pod("b", "Running", node="n"), at=20)
    seen(gang, a_pod("a", "Succeeded"), a_pod("b", "Succeeded", node="n"), at=50)
    found = figures_of(book, [gang], 50)
    assert (found.half_bought_gangs, found.half_bought_node_seconds) == (1, 10)
    assert (found.node_seconds, found.idle_node_seconds) == (200, 200 - 10 - 60)
    assert (found.wait_p50_s, found.wait_p95_s, found.mixed_gangs) == (20, 20, 1)


def test_gangs_of_all_sizes_come_in_an_order_that_the_seed_decides() -> None:
    one, again, other = drawn_gangs(16, 1), drawn_gangs(16, 1), drawn_gangs(16, 2)
    assert one == again != other
    assert Counter(gang.workers for gang in one) == dict.fromkeys(range(1, 9), 2)


def test_each_gang_fits_on_one_gpu_type_and_not_all_fit_at_once() -> None:
    there: Counter[str] = Counter()
    for offer in OFFERS:
        there[offer.instance_type.gpu_type] += offer.there
    gangs = drawn_gangs(ARGUMENTS.gangs, ARGUMENTS.seed)
    assert max(gang.workers for gang in gangs) <= min(there.values())
    assert sum(gang.workers for gang in gangs) > MOST_NODES
    assert node_pool(10)["spec"]["limits"] == {"nvidia.com/gpu": str(8 * MOST_NODES)}


def test_a_node_has_the_price_of_its_zone_and_capacity_type() -> None:
    labels = {INSTANCE_TYPE: EIGHT_A100.name, ZONE: "zone-b", CAPACITY_TYPE: SPOT}
    assert price_of(labels) == pytest.approx(EIGHT_A100.price / 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gangs", "0"], "--gangs: must be a number of at least 1"),
        (["--every", "0"], "--every: must be a number of at least 0.1"),
        (["--every", "nan"], "--every: must be a number of at least 0.1"),
        (["--give-up", "inf"], "--give-up: must be a number of at least 1"),
        (["--boot", "-1"], "--boot: must be a number of at least 0"),
    ],
)
def test_numbers_that_make_no_sense_end_it(words: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        karpenter.parsed(words)


def test_both_sides_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    karpenter.report(Namespace(**{**vars(ARGUMENTS), "json": False}), WELL, WELL)
    printed = capsys.readouterr().out
    for name in asdict(WELL):
        assert f"\n{name} " in printed
        assert f"\nkarpenter_{name} " in printed


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (replace(WELL, half_bought_gangs=2), "Plimsoll has half bought 2 gangs"),
        (replace(WELL, wait_p50_s=float("nan")), "not a finite number: wait_p50_s"),
    ],
)
def test_what_is_no_success_ends_with_an_error(ours: Figures, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        karpenter.report(ARGUMENTS, ours, replace(WELL, half_bought_gangs=9))
