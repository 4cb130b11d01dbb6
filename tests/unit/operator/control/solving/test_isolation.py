import asyncio
from collections.abc import Collection, Sequence

import pytest

from plimsoll.control.solving.isolation import Isolation, culprit
from plimsoll.control.solving.solver_process import SolverProcess
from plimsoll.observe.snapshot import JobView
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.seen import seen
from support.objects.job_manifests import a_training_job

JOBS = seen(*(a_training_job(f"job-{number:02}") for number in range(40))).jobs


def suspect(*bad: int, together: bool = False) -> tuple[JobView | None, int]:
    """Which job is found among those of which some cannot be planned, and after how many trials."""
    trials = 0

    async def works(jobs: Sequence[JobView]) -> bool:
        nonlocal trials
        trials += 1
        there = {JOBS.index(job) for job in jobs} & {*bad}
        return len(there) < (len(bad) if together else 1)

    return asyncio.run(culprit(JOBS, works)), trials


@pytest.mark.parametrize("number", range(40))
def test_the_one_job_that_cannot_be_planned_is_found(number: int) -> None:
    found, trials = suspect(number)
    assert found is JOBS[number]
    assert trials <= 8, "two to begin with, then the binary logarithm"


def test_of_jobs_that_only_fail_together_the_least_important_is_found() -> None:
    assert suspect(3, 17, 29, together=True)[0] is JOBS[29]


def test_nobody_is_suspected_where_all_is_well() -> None:
    assert suspect()[0] is None


def test_nobody_is_suspected_where_it_fails_without_any_job() -> None:
    async def fails(_jobs: Collection[JobView]) -> bool:
        return False

    assert asyncio.run(culprit(JOBS, fails)) is None


def test_a_plan_that_can_be_made_blames_nobody() -> None:
    solver = SolverProcess()
    snapshot = seen(fake_node("node", gpus=1), *(a_training_job(f"job-{n}") for n in range(6)))
    trials: list[None] = []
    try:
        found = asyncio.run(Isolation(solver).culprit(snapshot, lambda: trials.append(None)))
        assert (found, len(trials)) == (None, 1)
    finally:
        solver.close()
