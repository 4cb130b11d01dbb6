import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.relocation import other_place, with_room_on
from plimsoll_placement.model import Job, JobName, Node, NodeName, Queue
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    A100,
    H100,
    a_node,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    gang_on,
)

SLOW = frozenset({NodeName("n0")})
TRAIN = JobName("train")


def gang(*nodes: str, level: int | None = None, required: int | None = None) -> Job:
    """A gang of two, of which this is about, on these nodes."""
    worker = a_role(counts=(2, 4), rates={H100: 100, A100: 50})
    return a_training_job(
        worker=worker,
        running=gang_on(*nodes),
        preferred_level=level,
        required_level=required,
    )


def asked(
    *nodes: Node,
    jobs: tuple[Job, ...] = (),
    queues: tuple[Queue, ...] | None = None,
    **topology: int,
) -> Problem:
    return a_problem(
        nodes,
        (gang("n0", "n1", **topology), *jobs),
        queues=queues,
        levels=("rack",),
    )


def places(problem: Problem, lost: float = 0.3) -> list[str] | None:
    """The nodes of the other place, which breaks no rule."""
    found = other_place(problem, TRAIN, SLOW, lost=lost)
    if found is None:
        return None
    held = {job.name: job.running for job in problem.jobs if job.running}
    assert not list(violations(problem, {**held, TRAIN: found}))
    assert [assignment.replica for assignment in found] == [0, 1]
    return [name for assignment in found for name in assignment.nodes]


def nodes(**fields: str) -> tuple[Node, ...]:
    """One node of one GPU for each name, in a rack."""
    return tuple(a_node(name, gpus=1, topology=(rack,)) for name, rack in fields.items())


def test_a_gang_has_another_place_where_a_node_is_free() -> None:
    found = places(asked(*nodes(n0="a", n1="a", n2="a")))
    assert sorted(found or ()) == ["n1", "n2"]


def test_another_job_on_a_node_that_is_gone_is_in_nobodys_way() -> None:
    beside = a_training_job("beside", running=gang_on("n2", "gone"))
    problem = asked(*nodes(n0="a", n1="a", n2="a", n3="a"), jobs=(beside,))
    found = other_place(problem, TRAIN, SLOW, lost=0.3)
    assert sorted(name for each in found or () for name in each.nodes) == ["n1", "n3"]


def test_nobody_gives_way_to_it() -> None:
    beside = a_training_job("beside", running=gang_on("n2"), priority=-1)
    assert places(asked(*nodes(n0="a", n1="a", n2="a"), jobs=(beside,))) is None


def test_it_keeps_its_size_and_its_gpu_type() -> None:
    other = a_node("n2", gpus=8, gpu_type=A100, topology=("a",))
    assert places(asked(*nodes(n0="a", n1="a"), other)) is None


@pytest.mark.parametrize(
    ("closed", "usable"), [({"open": False}, True), ({"open": False, "usable": False}, False)]
)
def test_it_goes_to_no_node_that_is_closed(closed: dict[str, bool], *, usable: bool) -> None:
    shut = a_node("n2", gpus=1, topology=("a",), open=closed["open"], usable=usable)
    assert places(asked(*nodes(n0="a", n1="a"), shut)) is None


def test_it_stays_where_the_topology_that_it_requires_is() -> None:
    cluster = nodes(n0="a", n1="a", n2="b")
    assert places(asked(*cluster, required=0)) is None
    assert places(asked(*cluster)) is not None


def test_it_stays_where_it_would_lose_more_by_the_network() -> None:
    cluster = nodes(n0="a", n1="a", n2="b")
    assert places(asked(*cluster, level=0), lost=0.05) is None
    assert places(asked(*cluster, level=0), lost=0.15) is not None


def test_its_queue_may_hold_no_more_than_before_and_need_not() -> None:
    cluster = nodes(n0="a", n1="a", n2="a")
    full = (a_queue(limit={H100: 2000}),)
    assert places(asked(*cluster, queues=full)) is not None


def test_a_gang_that_may_not_have_its_size_any_more_is_left_to_the_plan() -> None:
    alone = a_training_job(worker=a_role(counts=(3,)), running=gang_on("n0", "n1"))
    problem = a_problem(nodes(n0="a", n1="a", n2="a", n3="a"), (alone,))
    assert other_place(problem, TRAIN, SLOW, lost=0.5) is None


def bound(*jobs: Job, on: int = 0b10) -> list[str]:
    """The jobs that have room on the second of two nodes of four GPUs, if they may use no other."""
    problem = a_problem((a_node("n0", gpus=4), a_node("n1", gpus=4)), jobs)
    found = with_room_on(problem, [job.name for job in jobs if job.name != "other"], on)
    assert all(job.roles[0].eligible == on for job in found.values())
    return sorted(found)


def single(name: str, *nodes: str, gpus: int = 1, pinned: bool = False) -> Job:
    worker = a_role(gpu_milli=1000 * gpus)
    return a_training_job(name, worker=worker, running=gang_on(*nodes), pinned=pinned)


def test_gangs_are_bound_to_nodes_with_room_for_all_of_them_at_once() -> None:
    assert bound(single("a", "n0", gpus=2), single("b", "n0", gpus=2)) == ["a", "b"]
    assert bound(single("a", gpus=3), single("b", gpus=3)) == ["a"]


def test_what_others_hold_there_is_no_room() -> None:
    assert bound(single("a", "n0", gpus=2), single("other", "n1", gpus=3)) == []
    assert bound(single("a", "n0", gpus=2), single("other", "n1", gpus=2)) == ["a"]


def test_a_gang_that_must_stay_is_bound_to_nothing() -> None:
    assert bound(single("a", "n0", pinned=True)) == []
    assert bound() == []
