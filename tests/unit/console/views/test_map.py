from datetime import UTC, datetime
from typing import Any

import msgspec

from plimsoll_console.access.rights import ALL, Rights
from plimsoll_console.messages.map import Map, MapNode
from plimsoll_console.serving.shown import VIEWS
from plimsoll_console.views.map import LARGEST_GROUP, MOST_NODES, group_of, map_of
from plimsoll_console.views.sight import Sight
from plimsoll_console.views.stamps import Stamp
from plimsoll_devcluster.fake_nodes import RACK, fake_node
from support.clusters.held_gpus import holding
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_gpu_pod, a_pool, a_training_job

STAMP = Stamp(datetime(2026, 11, 21, tzinfo=UTC), "1", None)
OTHERS = Rights(nodes=True)


def drawn(*manifests: dict[str, Any], rights: Rights = ALL) -> Map:
    return map_of(Sight(seen(*manifests), rights), STAMP)


def node_in(found: Map, name: str = "n-0") -> MapNode:
    return next(node for group in found.groups for node in group.nodes if node.name == name)


def held(node: MapNode) -> list[list[tuple[str, int]]]:
    return [[(each.by, each.milli) for each in cell.holdings] for cell in node.cells]


def test_each_gpu_is_a_cell_held_by_whom_it_is() -> None:
    job = at(a_training_job("job", gpus=2), "n-0")
    things = (fake_node("n-0", gpus=4), *holding(job, units=2), a_gpu_pod("other", "n-0", gpus=1))
    assert held(node_in(drawn(*things))) == [
        *([("job", 1000)], [("job", 1000)], [("other", 1000)], []),
    ]
    found = drawn(*things, rights=OTHERS)
    assert held(node_in(found)) == [
        *([("taken", 1000)], [("taken", 1000)], [("other", 1000)], []),
    ]
    assert found.jobs == ()
    counts = found.groups[0].counts
    assert (counts.free_milli, counts.taken_milli, counts.other_milli) == (1000, 2000, 1000)


def test_shares_of_a_gpu_are_in_one_cell() -> None:
    jobs = [at(a_training_job(name, gpus="0.25"), "n-0") for name in ("a", "b")]
    pods = [each for job in jobs for each in holding(job)]
    found = drawn(fake_node("n-0", gpus=1, replicas=4), *pods)
    assert held(node_in(found)) == [[("job", 250), ("job", 250)]]
    assert node_in(found).unit_milli == 250


def test_a_node_that_takes_nothing_says_why() -> None:
    taint = {"key": "plimsoll.dev/quarantine", "effect": "NoSchedule", "value": "x"}
    node = node_in(drawn(fake_node("n-0", taints=[taint])))
    assert (node.state, node.reason) == ("Quarantined", "Quarantined")


def test_where_a_job_is_about_to_go_is_shown_to_who_may_see_it() -> None:
    job = at(a_training_job("job", gpus=2), "n-1")
    nodes = [fake_node("n-0"), fake_node("n-1")]
    (ghost,) = drawn(*nodes, job).ghosts
    assert (ghost.change, ghost.gpus_milli) == ("Arrives", 2000)
    assert drawn(*nodes, job, rights=OTHERS).ghosts == ()


def a_large_cluster(nodes: int) -> list[dict[str, Any]]:
    pool = a_pool("h100", {"type": "kwok"}, topologyKeys=[{"name": "rack", "label": RACK}])
    made = [fake_node(f"n-{n}", labels={RACK: f"rack-{n // 40}"}) for n in range(nodes)]
    jobs = [at(a_training_job(f"job-{n}", gpus=8), f"n-{n}") for n in range(0, nodes, 2)]
    return [pool, *made, *(each for job in jobs for each in holding(job, units=8))]


def test_a_large_cluster_is_shown_by_group() -> None:
    sight = Sight(seen(*a_large_cluster(MOST_NODES + 20)), ALL)
    found = map_of(sight, STAMP)
    assert found.aggregated
    assert all(group.nodes == () for group in found.groups)
    counts = [group.counts for group in found.groups]
    assert sum(each.nodes for each in counts) == MOST_NODES + 20
    assert sum(each.job_milli for each in counts) == (MOST_NODES + 20) * 4000
    one = group_of(sight, found.groups[0].key, STAMP)
    assert one is not None
    assert len(one.groups[0].nodes) == 40
    assert group_of(sight, "nonsense", STAMP) is None


def test_a_pool_without_racks_is_shown_in_parts() -> None:
    found = drawn(*(fake_node(f"n-{n:04}") for n in range(LARGEST_GROUP + 1)))
    assert [group.counts.nodes for group in found.groups] == [LARGEST_GROUP, 1]


def test_a_pod_that_asks_for_more_than_numbers_hold_harms_nobody() -> None:
    job = at(a_training_job("job"), "n-0")
    things = (fake_node("n-0", gpus=2), *holding(job, units=2**62))
    sight = Sight(seen(*things, a_gpu_pod("other", "n-0", gpus=2**62)), ALL)
    for view in VIEWS.values():
        assert msgspec.json.encode(view(sight, STAMP))
    assert held(node_in(map_of(sight, STAMP))) == [[("job", 1000)], [("job", 1000)]]
