"""When nodes that were bought are given back."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from plimsoll.planning.provisioning.idle_nodes import (
    Close,
    GiveBack,
    IdleNodes,
    Reopen,
    Uses,
    in_use,
    to_reopen,
)
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen
from support.objects.bought_nodes import (
    a_claim,
    a_growing_pool,
    a_node_of,
    a_request,
    an_autoscaled_pool,
)
from support.objects.job_manifests import a_training_job

LATER = NOW + timedelta(minutes=10)
CLOSED = [{"key": "plimsoll.dev/given-back", "effect": "NoSchedule"}]
POOL = a_growing_pool()


def bought(name: str = "n", *, closed: bool = False) -> list[Manifest]:
    """A node that was bought and has arrived."""
    taints = CLOSED if closed else []
    return [
        a_claim(f"h100-{name}", node=name, arrived=True),
        a_node_of("h100", name, taints=taints),
    ]


def changes(
    idle: IdleNodes, *manifests: Manifest, wanted: Iterable[str] = (), after: timedelta
) -> list[tuple[type, str]]:
    snapshot = seen(*manifests, now=NOW + after)
    found = idle.due(snapshot, Uses(in_use(snapshot, frozenset(wanted))))
    return [
        (type(each), each.order.node if isinstance(each, GiveBack) else each.node.name)
        for each in found
    ]


def due(*manifests: Manifest, wanted: Iterable[str] = ()) -> list[tuple[type, str]]:
    """What is done after the time for which these pools keep idle nodes."""
    idle = IdleNodes()
    changes(idle, *manifests, wanted=wanted, after=timedelta())
    early = changes(idle, *manifests, wanted=wanted, after=timedelta(minutes=9))
    assert not [each for each in early if each[0] is Close]
    return changes(idle, *manifests, wanted=wanted, after=timedelta(minutes=10))


def test_a_node_is_closed_once_it_has_been_idle_for_long_enough() -> None:
    assert due(POOL, *bought()) == [(Close, "n")]


def test_one_that_is_closed_and_still_idle_is_given_back() -> None:
    closed = changes(IdleNodes(), POOL, *bought(closed=True), after=timedelta())
    assert closed == [(GiveBack, "n")]


def test_a_node_that_a_job_has_or_is_planned_for_is_kept() -> None:
    job = at(a_training_job("job"), "n")
    assert due(POOL, *bought(), job) == []
    assert due(POOL, *bought(), wanted=["n"]) == []
    assert due(POOL, *bought(closed=True), job) == [(Reopen, "n")]


def test_a_node_with_pods_of_others_is_kept() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d"}
    pod: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "other"},
        "spec": {"nodeName": "n", "containers": [{"name": "main"}]},
    }
    assert due(POOL, *bought(), pod) == []
    of_the_node = {"name": "agent", "ownerReferences": [{**owner, "controller": True}]}
    assert due(POOL, *bought(), {**pod, "metadata": of_the_node}) == [(Close, "n")]
    over = {**pod, "status": {"phase": "Succeeded"}}
    assert due(POOL, *bought(), over) == [(Close, "n")]


def test_the_fewest_nodes_are_kept_though_they_are_idle() -> None:
    pool = a_growing_pool(provisioning={"min": 1})
    assert due(pool, *bought("a"), *bought("b")) == [(Close, "a")]
    assert due(pool, *bought("a")) == []


def test_what_nobody_bought_and_what_has_not_arrived_is_left_alone() -> None:
    assert due(POOL, a_node_of("h100", "n")) == []
    assert due(POOL, a_claim("h100-1", node="n"), a_node_of("h100", "n")) == []


def test_an_order_that_never_came_is_taken_back() -> None:
    late = changes(IdleNodes(), POOL, a_claim("h100-1"), after=timedelta(minutes=19))
    assert late == [(GiveBack, "")]
    early = changes(IdleNodes(), POOL, a_claim("h100-1"), after=timedelta(minutes=17))
    assert early == []


def test_the_time_begins_anew_once_it_has_been_used() -> None:
    idle = IdleNodes()
    changes(idle, POOL, *bought(), after=timedelta())
    changes(idle, POOL, *bought(), wanted=["n"], after=timedelta(minutes=5))
    assert changes(idle, POOL, *bought(), after=timedelta(minutes=10)) == []
    assert changes(idle, POOL, *bought(), after=timedelta(minutes=20)) == [(Close, "n")]


def test_after_a_restart_a_node_has_been_idle_since_its_last_pod() -> None:
    left = a_claim("h100-n", node="n", arrived=True, last_pod_event=NOW)
    node = a_node_of("h100", "n")
    assert changes(IdleNodes(), POOL, left, node, after=timedelta(minutes=9)) == []
    assert changes(IdleNodes(), POOL, left, node, after=timedelta(minutes=10)) == [(Close, "n")]


def test_what_is_no_longer_awaited_is_idle_from_then_on_whatever_ran_there_before() -> None:
    idle, long_ago = IdleNodes(), NOW - timedelta(hours=1)
    left = a_claim("h100-n", node="n", arrived=True, last_pod_event=long_ago)
    node = a_node_of("h100", "n")
    assert changes(idle, POOL, left, node, wanted=["n"], after=timedelta()) == []
    assert changes(idle, POOL, left, node, after=timedelta(minutes=1)) == []
    assert changes(idle, POOL, left, node, after=timedelta(minutes=11)) == [(Close, "n")]


def test_a_spare_node_is_kept_free_where_the_pool_says_so() -> None:
    pool = a_growing_pool(provisioning={"headroom": 1})
    assert due(pool, *bought("a"), *bought("b")) == [(Close, "a")]
    assert due(pool, *bought("a")) == []
    assert due(pool, *bought("a", closed=True)) == [(Reopen, "a")]
    used = at(a_training_job("job"), "a")
    assert due(pool, *bought("a"), *bought("b"), used) == []


AGED = a_growing_pool(provisioning={"maxAge": "1m"})  # those of these tests are two minutes old


def test_a_node_that_is_too_old_is_closed_and_goes_once_nothing_runs_there() -> None:
    job = at(a_training_job("job"), "n")
    assert changes(IdleNodes(), AGED, *bought(), job, after=timedelta()) == [(Close, "n")]
    assert changes(IdleNodes(), AGED, *bought(closed=True), job, after=timedelta()) == []
    gone = changes(IdleNodes(), AGED, *bought(closed=True), after=timedelta())
    assert gone == [(GiveBack, "n")]
    young = a_growing_pool(provisioning={"maxAge": "3m"})
    assert changes(IdleNodes(), young, *bought(), job, after=timedelta()) == []


def what_becomes(uses: Uses, *manifests: Manifest) -> list[Close | Reopen | GiveBack]:
    """What is done now with nodes of which `used` ones are used."""
    return [*IdleNodes().due(seen(*manifests), uses)]


def emptied(name: str = "n") -> list[Manifest]:
    """A node that was bought and is being emptied."""
    taint = {"key": "plimsoll.dev/emptied", "effect": "NoSchedule"}
    return [
        a_claim(f"h100-{name}", node=name, arrived=True),
        a_node_of("h100", name, taints=[taint]),
    ]


def test_a_node_whose_jobs_fit_elsewhere_is_emptied_and_then_given_back() -> None:
    used = Uses(frozenset({"n"}), emptied="n")
    (closed,) = what_becomes(used, POOL, *bought())
    assert isinstance(closed, Close)
    assert closed.taint.key == "plimsoll.dev/emptied"
    assert what_becomes(Uses(frozenset({"n"})), POOL, *emptied()) == []
    (back,) = what_becomes(Uses(), POOL, *emptied())
    assert isinstance(back, GiveBack)
    assert back.message == "what ran there has moved elsewhere"


def test_a_node_is_not_emptied_on_while_somebody_waits() -> None:
    (opened,) = what_becomes(Uses(frozenset({"n"}), someone_waits=True), POOL, *emptied())
    assert isinstance(opened, Reopen)
    assert opened.taint is not None
    assert opened.taint.key == "plimsoll.dev/emptied"


def test_one_that_is_too_old_is_emptied_whoever_waits() -> None:
    used = Uses(frozenset({"n"}), emptied="n", someone_waits=True)
    (closed,) = what_becomes(used, AGED, *bought(closed=True))
    assert isinstance(closed, Close)
    assert closed.empties
    assert what_becomes(used, AGED, *emptied()) == []


def test_a_node_that_is_too_old_does_not_count_as_one_of_the_fewest_nor_as_a_spare_one() -> None:
    old = a_claim("h100-a", node="a", arrived=True, creationTimestamp=LONG_AGO)
    there = (old, a_node_of("h100", "a", taints=CLOSED), *bought("b"))
    for terms in ({"min": 1}, {"headroom": 1}):
        pool = a_growing_pool(provisioning={"maxAge": "1h", **terms})
        assert due(pool, *there) == [(GiveBack, "a")]


LONG_AGO = "2026-11-21T10:00:00Z"
AUTOSCALED = an_autoscaled_pool()
GIVEN_BACK = "status-taint.cluster-autoscaler.kubernetes.io/plimsoll-given-back"
EMPTIED = "status-taint.cluster-autoscaler.kubernetes.io/plimsoll-emptied"


def autoscaled(name: str = "n", taint: str = "") -> Manifest:
    """A node that cluster-autoscaler made long ago, with this taint of ours."""
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return a_node_of("h100", name, came=LONG_AGO, taints=taints)


def test_idle_nodes_that_cluster_autoscaler_made_are_left_to_it() -> None:
    assert due(AUTOSCALED, autoscaled()) == []
    overdue = a_request("h100-1", creationTimestamp=LONG_AGO)
    assert due(AUTOSCALED, overdue) == []


def test_one_whose_jobs_fit_elsewhere_is_emptied_and_stays_closed_until_it_is_removed() -> None:
    used = Uses(frozenset({"n"}), emptied="n")
    (closed,) = what_becomes(used, AUTOSCALED, autoscaled())
    assert isinstance(closed, Close)
    assert closed.taint.key == EMPTIED
    assert what_becomes(Uses(frozenset({"n"})), AUTOSCALED, autoscaled(taint=EMPTIED)) == []
    assert due(AUTOSCALED, autoscaled(taint=EMPTIED)) == []


def test_one_that_is_emptied_is_used_again_if_somebody_waits_or_the_pool_lacks_it() -> None:
    emptied = autoscaled(taint=EMPTIED)
    for uses in (Uses(), Uses(frozenset({"n"}))):
        (opened,) = what_becomes(replace(uses, someone_waits=True), AUTOSCALED, emptied)
        assert isinstance(opened, Reopen)
        assert opened.taint is not None
        assert opened.taint.key == EMPTIED
    for terms in ({"min": 1}, {"headroom": 1}):
        assert due(an_autoscaled_pool(provisioning=terms), emptied) == [(Reopen, "n")]


def test_several_that_are_closed_are_not_kept_for_each_other() -> None:
    pool = an_autoscaled_pool(provisioning={"min": 1})
    there = [autoscaled("a", EMPTIED), autoscaled("b", EMPTIED)]
    assert due(pool, *there) == [(Reopen, "b")]


def test_one_that_is_too_old_is_closed_and_emptied_and_not_used_again() -> None:
    aged = an_autoscaled_pool(provisioning={"maxAge": "1h", "min": 1})
    assert changes(IdleNodes(), aged, autoscaled(), after=timedelta()) == [(Close, "n")]
    used = Uses(frozenset({"n"}), emptied="n", someone_waits=True)
    (closed,) = what_becomes(used, aged, autoscaled(taint=GIVEN_BACK))
    assert isinstance(closed, Close)
    assert closed.taint.key == EMPTIED
    waits = Uses(someone_waits=True)
    for taint in (GIVEN_BACK, EMPTIED):
        assert what_becomes(waits, aged, autoscaled(taint=taint)) == []


def test_a_closed_node_of_a_pool_that_gives_back_no_more_is_reopened() -> None:
    fixed = {**POOL, "spec": {k: v for k, v in POOL["spec"].items() if k != "provisioning"}}
    (reopened,) = to_reopen(seen(fixed, *bought(closed=True)))
    assert "its pool has no provisioning any more" in reopened.message
    assert not [*to_reopen(seen(fixed, *bought()))]
    assert not [*to_reopen(seen(POOL, *bought(closed=True)))]
