"""Which nodes are bought for jobs that run: instead of others, or to grow on."""

from datetime import timedelta
from decimal import Decimal

from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.offers import Offer
from plimsoll.planning.provisioning.buying.purchases import Purchases, offer_to_all
from plimsoll.planning.provisioning.trading.emptying import candidates, coming_prices
from plimsoll.planning.provisioning.trading.trades import Trade, ending_soon, growth
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import NodeName
from support.clusters.fleets import a_job_on, bought, estimated, fleet_of
from support.clusters.seen import NOW, at
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_policy, a_training_job, an_inference_job

THRIFTY = a_policy(objective={"weights": {"money": "1"}})
CHEAP = a_growing_pool("cheap", price="1")
A, B = bought("a", "dear"), bought("b", "dear")


def a_dear_pool(price: str = "50") -> Manifest:
    return a_growing_pool("dear", price=price)


class Market:
    """What could be bought in a cluster."""

    def __init__(self, *manifests: Manifest) -> None:
        self.fleet = fleet_of(*manifests)
        snapshot, settled = self.fleet.snapshot, self.fleet.settled
        self.offer: Offer = offer_to_all(snapshot, settled, self.fleet.future, ProblemBuilder())

    def trade_of(self, node: str) -> Trade:
        """A node for others."""
        found = candidates(self.fleet.snapshot, self.fleet.settled)
        (mine,) = (each for each in found if each.node == node)
        return mine.trade(self.offer, self.fleet.idle_prices)

    def instead_of(self, node: str) -> dict[str, int] | None:
        """The nodes to buy so that one can go, by pool; None if it stays."""
        return self._bought(self.trade_of(node))

    def to_grow(self) -> dict[str, int] | None:
        """The nodes to buy for gangs to grow on, by pool; None if that does not pay."""
        charged = {**self.fleet.idle_prices, **coming_prices(self.offer)}
        return self._bought(growth(self.offer, charged, ending_soon(self.fleet.snapshot)))

    def _bought(self, trade: Trade) -> dict[str, int] | None:
        found = self.purchases(trade)
        return None if found is None else dict(found.nodes)

    def purchases(self, trade: Trade, left: Decimal | None = None) -> Purchases | None:
        """What a trade buys if it pays."""
        placements = estimated(trade.offer.problem)
        if trade.net(placements, self.fleet.settled.loss_allowance) is None:
            return None
        return trade.purchases(placements, left)


def test_a_node_is_replaced_by_one_that_costs_less() -> None:
    there = (a_dear_pool(), CHEAP, *A, a_job_on("a", "job", 4), THRIFTY)
    assert Market(*there).instead_of("a") == {"cheap": 1}


def test_a_node_that_costs_no_more_than_others_stays() -> None:
    there = (a_dear_pool("1"), CHEAP, *A, a_job_on("a", "job", 4), THRIFTY)
    assert Market(*there).instead_of("a") is None


def test_a_node_stays_if_the_difference_is_less_than_what_the_move_throws_away() -> None:
    lavish = a_policy(objective={"weights": {"money": "0.001"}})
    there = (a_dear_pool(), CHEAP, *A, a_job_on("a", "job", 4))
    assert Market(*there, lavish).instead_of("a") is None


def test_a_whole_node_counts_whatever_is_used_of_it() -> None:
    """A single GPU would be cheaper on the large node, if that were not bought as a whole."""
    small = a_growing_pool("dear", price="3", gpus=1)
    node = a_node_of("dear", "a", gpus=1)
    claim = a_claim("dear-a", "dear", "a", arrived=True)
    there = (small, CHEAP, claim, node, a_job_on("a", "job", 1), THRIFTY)
    assert Market(*there).instead_of("a") is None


def test_a_service_goes_where_it_serves_no_less() -> None:
    service = an_inference_job("chat", gpus=4)
    there = (a_dear_pool(), CHEAP, *A, at(service, "a"), THRIFTY)
    assert Market(*there).instead_of("a") == {"cheap": 1}


def test_a_slower_type_takes_jobs_if_that_is_worth_it() -> None:
    """Nine tenths of the speed at a tenth of the price is; a hundredth is not."""
    slow = a_growing_pool("slow", price="2", gpu_type=A100)

    def bought_instead(rate: int) -> dict[str, int] | None:
        job = a_job_on("a", "job", 8, rates={H100: 100, A100: rate})
        return Market(a_dear_pool("20"), slow, *A, job, THRIFTY).instead_of("a")

    assert bought_instead(90) == {"slow": 1}
    assert bought_instead(1) is None


def test_a_node_on_its_way_is_not_bought_again() -> None:
    coming = a_claim("cheap-1", "cheap")
    there = (a_dear_pool(), CHEAP, *A, coming, a_job_on("a", "job", 4), THRIFTY)
    market = Market(*there)
    purchases = market.purchases(market.trade_of("a"))
    assert purchases is not None
    assert not purchases.nodes
    assert [each.order.name for of in purchases.waiting.values() for each in of if each.order] == [
        "cheap-1"
    ]


def test_an_idle_node_costs_what_it_costs() -> None:
    """Once the new node has come, the old one can go; an equal one is no reason to move."""
    there = (a_dear_pool(), CHEAP, *A, a_job_on("a", "job", 4), THRIFTY)
    assert Market(*there, *bought("b", "cheap")).instead_of("a") == {}
    assert Market(*there[:1], *there[2:], *B).instead_of("a") is None


def test_nothing_is_bought_beyond_the_budget() -> None:
    market = Market(a_dear_pool(), CHEAP, *A, a_job_on("a", "job", 4), THRIFTY)
    trade = market.trade_of("a")
    assert market.purchases(trade, Decimal(8)) is not None
    assert market.purchases(trade, Decimal(7)) is None


def grown(price: str, most: int = 16) -> dict[str, int] | None:
    """What is bought where a gang of 8 workers fills its node, at a price of a GPU."""
    pool = a_growing_pool("dear", price=price)
    rates = {H100: {8: 8, most: most}}
    gang = at(a_training_job("gang", workers=(8, most), rates=rates), *["a"] * 8)
    return Market(pool, *A, gang, THRIFTY).to_grow()


def test_a_gang_grows_onto_nodes_that_are_worth_their_price() -> None:
    assert grown("1") == {"dear": 1}
    assert grown("100") is None


def test_a_gang_does_not_grow_onto_a_node_of_which_it_would_use_too_little() -> None:
    assert grown("8", most=16) == {"dear": 1}
    assert grown("8", most=9) is None


def test_nothing_is_bought_for_a_gang_that_is_done_before_it_comes() -> None:
    """A node takes five minutes unless its pool says otherwise."""

    def grown_by(ends_in: timedelta) -> dict[str, int] | None:
        gang = a_training_job("gang", workers=(8, 16), rates={H100: {8: 8, 16: 16}})
        placed = at(gang, *["a"] * 8)
        placed["status"]["expectedCompletion"] = (NOW + ends_in).isoformat()
        return Market(a_dear_pool("1"), *A, placed, THRIFTY).to_grow()

    assert grown_by(timedelta(hours=2)) == {"dear": 1}
    assert not grown_by(timedelta(minutes=9))


def test_names_of_nodes_to_come_are_those_of_the_problem() -> None:
    market = Market(a_dear_pool(), CHEAP, *A, a_job_on("a", "job", 4))
    names = {NodeName(node.name) for node in market.offer.problem.nodes}
    assert coming_prices(market.offer).keys() <= names
