from random import Random

import pytest

from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.moving import replay_with_moves
from plimsoll_bench.packing.room import Move, Mover, MoveTerms
from plimsoll_bench.packing.tenants import Tenants
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Host, Placement
from support.problems.packing_cases import (
    CPU_ONLY,
    G2,
    T4,
    a_cluster,
    a_host,
    a_pod,
    some_hosts,
    some_pods,
)

PATIENT = MoveTerms(1, restart_seconds=100, payback_seconds=1000)


class Scene:
    """A cluster with tenants in given places and somebody to move them."""

    def __init__(self, terms: MoveTerms, *hosts: Host) -> None:
        self.cluster = a_cluster(*hosts)
        self.tenants = Tenants(self.cluster)
        self.mover = Mover(self.cluster, self.tenants, Lookahead(self.cluster), terms)

    def free(self) -> list[list[int]]:
        return [[int(milli) for milli in row] for row in self.cluster.free]


def two_shares(terms: MoveTerms) -> Scene:
    """Two nodes of one GPU, on each of which is a share: of 400 and of 600."""
    scene = Scene(terms, a_host("a", 1), a_host("b", 1))
    scene.tenants.settle(a_pod(400), Placement(0, (0,)))
    scene.tenants.settle(a_pod(600), Placement(1, (0,)))
    return scene


def test_one_share_moves_beside_another_and_leaves_a_whole_gpu() -> None:
    scene = two_shares(PATIENT)
    room = scene.mover.room(a_pod(1000))
    assert room
    assert room.placement == Placement(0, (0,))
    assert room.moves == (Move(a_pod(400), Placement(0, (0,)), Placement(1, (0,))),)
    assert scene.free() == [[0], [0]]


def test_the_break_even_is_when_the_pod_has_made_up_for_what_was_thrown_away() -> None:
    room = two_shares(PATIENT).mover.room(a_pod(1000))
    assert room
    assert room.break_even_seconds(100) == 400 * 100 / 1000


def test_a_move_that_takes_too_long_to_pay_back_is_not_made() -> None:
    terms = MoveTerms(1, restart_seconds=100, payback_seconds=39)
    scene = two_shares(terms)
    assert scene.mover.room(a_pod(1000)) is None
    assert scene.free() == [[600], [400]]


@pytest.mark.parametrize(("moves", "finds"), [(1, False), (2, True)])
def test_a_chain_of_moves_is_as_long_as_allowed(moves: int, finds: bool) -> None:  # noqa: FBT001 - the claim's two sides
    terms = MoveTerms(moves, restart_seconds=1, payback_seconds=1000)
    scene = Scene(terms, a_host("a", 1), a_host("b", 1), a_host("c", 1))
    scene.tenants.settle(a_pod(700), Placement(0, (0,)))
    scene.tenants.settle(a_pod(200), Placement(1, (0,)))
    scene.tenants.settle(a_pod(150), Placement(1, (0,)))
    scene.tenants.settle(a_pod(800), Placement(2, (0,)))
    before = scene.free()
    room = scene.mover.room(a_pod(1000))
    assert (room is not None) == finds
    assert scene.free() == ([[0], [100], [50]] if finds else before)


def test_a_pod_is_moved_only_to_where_it_may_run() -> None:
    scene = Scene(PATIENT, a_host("a", 1, model=T4), a_host("b", 1, model=G2))
    scene.tenants.settle(a_pod(400, models=[T4]), Placement(0, (0,)))
    assert scene.mover.room(a_pod(1000, models=[T4])) is None


def test_a_gang_gets_the_device_that_it_lacks() -> None:
    scene = Scene(PATIENT, a_host("a", 4), a_host("b", 1))
    scene.tenants.settle(a_pod(300), Placement(0, (2,)))
    room = scene.mover.room(a_pod(gpus=4))
    assert room
    assert room.placement == Placement(0, (0, 1, 2, 3))


def test_nobody_moves_for_a_pod_that_uses_no_gpu() -> None:
    scene = Scene(PATIENT, a_host("a", 1, cores=4))
    scene.tenants.settle(a_pod(300), Placement(0, (0,)))
    assert scene.mover.room(CPU_ONLY) is None


def test_who_found_no_room_is_looked_at_again_once_something_left() -> None:
    scene = Scene(PATIENT, a_host("a", 1), a_host("b", 1))
    scene.tenants.settle(a_pod(400), Placement(0, (0,)))
    other = scene.tenants.settle(a_pod(700), Placement(1, (0,)))
    assert scene.mover.room(a_pod(1000)) is None
    scene.tenants.leave(other)
    assert scene.mover.room(a_pod(1000))


@pytest.mark.parametrize("seed", range(15))
def test_moves_lose_nobody_and_give_nothing_twice(seed: int) -> None:
    random = Random(seed)
    hosts = some_hosts(random)
    cluster = Cluster(hosts)
    pods = some_pods(random, 120)
    moved = replay_with_moves(cluster, Lookahead(cluster), pods, MoveTerms(3))
    left = list(where_all_are(pods, moved.replay.placements, [r.moves for r in moved.rooms]))
    again = Cluster(hosts)
    for pod, placement in left:
        again.take(pod, placement)
    assert (again.free == cluster.free).all()
    assert (again.cpu == cluster.cpu).all()
    assert (again.free >= 0).all()
    assert (again.cpu >= 0).all()
    assert (again.memory >= 0).all()


def where_all_are(
    pods: list[PodKind], placements: tuple[Placement | None, ...], moves: list[tuple[Move, ...]]
) -> list[tuple[PodKind, Placement]]:
    """The placements at arrival, with every move applied; a pod may move to where another was."""
    placed = [
        (pod, placement) for pod, placement in zip(pods, placements, strict=True) if placement
    ]
    for move in (move for room in moves for move in room):
        placed.append((move.pod, move.new))
        placed.remove((move.pod, move.old))
    return placed
