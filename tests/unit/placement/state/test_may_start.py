"""Where new pods may start, for whoever places pods and whoever makes room for them."""

from dataclasses import replace

import pytest

from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import H100, a_node, a_problem, a_role, a_training_job

NODES = [
    a_node("free"),
    a_node("spot", spot=True),
    a_node("closed", open=False),
    a_node("broken", usable=False),
    a_node("barred"),
    a_node("full", gpus=1),
]
ROLE = a_role(gpu_milli=2000, eligible=0b101111)


@pytest.mark.parametrize(("spot", "open_to_it"), [(True, {"free", "spot"}), (False, {"free"})])
def test_pods_start_only_on_open_nodes_that_admit_them(*, spot: bool, open_to_it: set[str]) -> None:
    ledger = Ledger(a_problem(NODES, [a_training_job(worker=ROLE)]))
    (pool,) = ledger.device_pools[H100]
    may_start = ledger.may_start(pool, ROLE, spot=spot)
    room = ledger.room(pool, ROLE, spot=spot)
    names = [ledger.problem.nodes[int(row)].name for row in pool.rows]
    assert {name for name, may in zip(names, may_start, strict=True) if may} == {
        *open_to_it,
        "full",
    }
    assert {name for name, pods in zip(names, room, strict=True) if pods} == open_to_it


def test_a_role_that_no_node_admits_starts_nowhere() -> None:
    ledger = Ledger(a_problem(NODES, [a_training_job(worker=ROLE)]))
    (pool,) = ledger.device_pools[H100]
    assert not ledger.may_start(pool, replace(ROLE, eligible=0), spot=True).any()
