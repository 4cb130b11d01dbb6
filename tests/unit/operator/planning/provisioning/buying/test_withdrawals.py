"""Which ProvisioningRequests are no longer needed."""

from datetime import timedelta

import pytest

from plimsoll.planning.provisioning.buying.withdrawals import why_unmet, withdrawals
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, seen
from support.objects.bought_nodes import a_node_of, a_request, an_autoscaled_pool, said

ACCEPTED, EXPIRED = said("Accepted"), said("BookingExpired")


def ago(minutes: float) -> str:
    return (NOW - timedelta(minutes=minutes)).isoformat()


def request(
    minutes: float, *conditions: Manifest, name: str = "h100-1", count: int = 1
) -> Manifest:
    made = ago(minutes)
    return a_request(name, count=count, conditions=conditions, creationTimestamp=made)


def node(name: str, minutes: float) -> Manifest:
    return a_node_of("h100", name, came=ago(minutes))


def withdrawn(*manifests: Manifest, start: str = "5m") -> list[str]:
    pool = an_autoscaled_pool(provisioning={"startTime": start})
    return [each.request.name for each in withdrawals(seen(pool, *manifests))]


def test_one_that_is_met_or_has_failed_goes_and_one_that_is_awaited_stays() -> None:
    assert withdrawn(request(2, ACCEPTED)) == []
    assert withdrawn(request(2, ACCEPTED), node("n", 1)) == ["h100-1"]
    assert withdrawn(request(2, ACCEPTED, count=2), node("n", 1)) == []
    assert withdrawn(request(2, ACCEPTED, said("Failed"))) == ["h100-1"]


@pytest.mark.parametrize(
    ("conditions", "start", "patience"),
    [((), "30m", 5), ((ACCEPTED,), "5m", 20), ((ACCEPTED,), "10m", 30), ((EXPIRED,), "12m", 12)],
)
def test_how_long_nodes_are_waited_for(
    conditions: tuple[Manifest, ...], start: str, patience: float
) -> None:
    assert withdrawn(request(patience, *conditions), start=start) == []
    assert withdrawn(request(patience + 0.1, *conditions), start=start) == ["h100-1"]


def test_one_stays_while_its_nodes_would_be_taken_for_those_of_another() -> None:
    met, other = request(5, ACCEPTED), request(3, ACCEPTED, name="h100-2")
    assert withdrawn(met, other, node("n", 2)) == []
    assert withdrawn(met, other, node("n", 4)) == ["h100-1"]
    assert withdrawn(met, other, node("n", 2), node("m", 1)) == ["h100-1", "h100-2"]


def test_one_that_is_going_is_left_alone() -> None:
    going = request(2, ACCEPTED, said("Failed"))
    going["metadata"]["deletionTimestamp"] = ago(1)
    assert withdrawn(going) == []


def test_why_no_more_nodes_are_expected() -> None:
    def why(found: Manifest, *nodes: Manifest) -> str:
        (seen_request,) = seen(an_autoscaled_pool(), found, *nodes).requests
        return why_unmet(seen_request)

    assert why(request(9, said("Failed"))) == "Failed is True"
    assert why(request(9)) == "cluster-autoscaler has not accepted it in time"
    late = request(30, ACCEPTED, count=2)
    assert why(late, node("n", 2)) == "of its 2 nodes only 1 have come in time"
