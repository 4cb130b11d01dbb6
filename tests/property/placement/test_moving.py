"""What must hold of moves that make room, whatever the cluster and the jobs are."""

import math
from random import Random

from hypothesis import event, example, given
from hypothesis import strategies as st

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.baseline import with_greedy
from plimsoll_placement.heuristics.greedy import Greedy
from plimsoll_placement.placing.place import Request
from plimsoll_placement.placing.shortfall import free_index
from plimsoll_placement.preemption.departures import Payable
from plimsoll_placement.preemption.moving import Mover
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.state.ledger import Ledger
from support.problems.fragmented import fragmented_problem
from support.problems.strategies import problems

fragmented = st.builds(fragmented_problem, st.builds(Random, st.integers(0, 1_000_000)))


def all_that_is_free(ledger: Ledger) -> tuple[object, ...]:
    pools = [pool for of_type in ledger.device_pools.values() for pool in of_type]
    devices = [(pool.free.tolist(), pool.milli.tolist(), pool.whole.tolist()) for pool in pools]
    nodes = ledger.cpu.tolist(), ledger.memory.tolist(), ledger.slots.tolist()
    used = {key: milli for key, milli in ledger.queue_used.items() if milli}
    placed = {name: set(held) for name, held in ledger.placed.items()}
    return devices, nodes, used, ledger.power.left.tolist(), placed


@given(st.one_of(fragmented, problems()))
@example(fragmented_problem(Random(49))).via("a chain ends at a higher priority than pays for it")
def test_plans_with_moves_are_sound_and_stop_nobody(problem: Problem) -> None:
    problem, (greedy, *moved) = with_greedy(problem)
    event(f"{len(moved)} with moves")
    for placements in moved:
        assert violations(problem, placements) == ()
        before = {name for name, held in greedy.items() if held}
        after = {name for name, held in placements.items() if held}
        assert before <= after
        services = [job.name for job in problem.jobs if not job.gang]
        gained = [len(placements.get(n, ())) - len(greedy.get(n, ())) for n in services]
        assert min(gained, default=0) >= 0
        assert before < after or max(gained, default=0) > 0
        assert score(problem, placements).unpaid <= score(problem, greedy).unpaid


@given(st.one_of(fragmented, problems()))
def test_undone_it_is_as_it_was(problem: Problem) -> None:
    greedy = Greedy.over_what_runs(problem)
    greedy.complete()
    mover, before = Mover(greedy.ledger), all_that_is_free(greedy.ledger)
    for job in problem.jobs:
        if greedy.is_satisfied(job):
            continue
        placed = greedy.ledger.placed.get(job.name, ())
        one_more = (free_index(job.roles[0], placed),)
        replicas = tuple(range(job.roles[0].least)) if job.gang else one_more
        kinds = [kind for kind in job.roles[0].yields if kind in greedy.ledger.device_pools]
        requests = [Request(job, job.roles[0], kind, replicas) for kind in kinds]
        room = mover.room(requests, Payable(math.inf, job.priority))
        event("room" if room else "no room")
        if room is not None:
            mover.undo()
        assert all_that_is_free(greedy.ledger) == before
