"""What a ledger keeps of its rooms is what it says of each row, however pods come and go."""

from random import Random

import pytest
from hypothesis import given, settings

from plimsoll_placement.model import Job, Role
from plimsoll_placement.state import rooms
from plimsoll_placement.state.device_pool import DevicePool
from plimsoll_placement.state.ledger import Ledger
from support.problems.random_clusters import chance
from support.problems.random_problems import drawn_problem, random_placement
from support.problems.strategies import sources

STEPS = 12


def all_rooms(ledger: Ledger) -> list[list[int]]:
    """The rooms that are kept, for each role, device pool, and with spot nodes or without."""
    return [ledger.room(pool, role, spot=spot).tolist() for pool, role, spot in _asked(ledger)]


def rooms_row_by_row(ledger: Ledger) -> list[list[int]]:
    return [
        [
            ledger.room_at(pool, position, role) if may_start else 0
            for position, may_start in enumerate(ledger.may_start(pool, role, spot=spot))
        ]
        for pool, role, spot in _asked(ledger)
    ]


def _asked(ledger: Ledger) -> list[tuple[DevicePool, Role, bool]]:
    return [
        (pool, role, spot)
        for job in ledger.problem.jobs
        for role in job.roles
        for kind in sorted(role.yields)
        for pool in ledger.pools_of(kind)
        for spot in (False, True)
    ]


def come_or_go(rng: Random, ledger: Ledger, job: Job) -> None:
    placed = ledger.placed.get(job.name, ())
    if placed:
        ledger.give_back(job, placed if chance(rng, 50) else placed[:1])
    else:
        ledger.take(job, random_placement(rng, ledger.problem, job))


def moved_and_looked_at(rng: Random) -> Ledger:
    """A ledger whose rooms are looked at while jobs come and go."""
    problem = drawn_problem(rng, nodes=6, jobs=5)
    ledger = Ledger(problem)
    for _ in range(STEPS if problem.jobs else 0):
        come_or_go(rng, ledger, rng.choice(problem.jobs))
        if chance(rng, 60):
            all_rooms(ledger)
    return ledger


@pytest.mark.slow
@settings(max_examples=3 * settings().max_examples)
@given(sources)
def test_rooms_that_are_kept_are_those_of_each_row(rng: Random) -> None:
    ledger = moved_and_looked_at(rng)
    assert all_rooms(ledger) == rooms_row_by_row(ledger)


@pytest.mark.parametrize(("limit", "least"), [("MOST_CELLS", 8), ("MOST_CHANGES", 2)])
@settings(max_examples=3 * settings().max_examples // 5)
@given(rng=sources)
def test_what_is_forgotten_for_want_of_room_is_found_anew(
    limit: str, least: int, rng: Random
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rooms, limit, least)
        ledger = moved_and_looked_at(rng)
        assert all_rooms(ledger) == rooms_row_by_row(ledger)
