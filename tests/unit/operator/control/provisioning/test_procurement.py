"""What to buy is worked out beside the loop; what goes wrong there is counted and costs no more."""

import asyncio
import itertools
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from itertools import islice

from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from plimsoll.acting.writes.writer import Writer
from plimsoll.clock import SYSTEM
from plimsoll.control.current_plan import CurrentPlan
from plimsoll.control.loop import Loop
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.provisioning.procurement import (
    PAUSE_SECONDS,
    UNTOLD_SECONDS,
    Procurement,
)
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.observe.nodes.notices import GIVEN_BACK_TAINT
from plimsoll.observe.nodes.orders import Way
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.future_nodes import MOST_OFFERED
from plimsoll.snapshots.recorder import Recorder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import solve
from plimsoll_simulator.inline_solver import InlineSolver
from plimsoll_simulator.twin import Twin, TwinTerms
from support.clusters.seen import seen
from support.objects.bought_nodes import LABEL, a_claim, a_growing_pool, a_node_of, a_request
from support.objects.job_manifests import a_policy, a_pool, a_template, a_training_job

CLOSED = {"key": GIVEN_BACK_TAINT, "value": "idle", "effect": "NoSchedule"}
TERMS = LoopTerms(ways=frozenset({Way.NODE_CLAIM}))


class Broken(InlineSolver):
    """Finds no estimate for want of memory."""

    async def estimate(self, problem: Problem) -> Solution | None:
        raise MemoryError(f"{len(problem.nodes)} nodes are too many")


def test_an_error_while_it_is_worked_out_what_to_buy_is_counted() -> None:
    snapshot, current = waiting(a_growing_pool(), a_training_job("job", gpus=8))

    async def turns() -> None:
        writer, woken = a_writer(), asyncio.Event()
        procurement = Procurement(Broken(0), SYSTEM, woken.set, terms=TERMS)
        procurement.turn(snapshot, current, writer)
        async with asyncio.timeout(30):
            await woken.wait()
        procurement.turn(snapshot, current, writer)
        assert not writer.orders.under_way

    before = _errors()
    asyncio.run(turns())
    assert _errors() == before + 1


class Slow(InlineSolver):
    """Finds estimates when it is allowed to."""

    def __init__(self) -> None:
        super().__init__(0)
        self.allowed = asyncio.Event()

    async def estimate(self, problem: Problem) -> Solution | None:
        await self.allowed.wait()
        return await super().estimate(problem)


def test_an_operator_that_has_just_started_takes_no_node_from_a_gang_whose_others_come() -> None:
    snapshot, current = waiting(
        a_growing_pool(provisioning={"idleTime": "1s"}),
        a_training_job("gang", workers=2, gpus=8),
        a_claim("h100-1", node="n", arrived=True),
        a_node_of("h100", "n"),
    )
    times = (snapshot.now + timedelta(seconds=seconds) for seconds in itertools.count(step=2))

    async def turns() -> None:
        writer, woken, solver = a_writer(), asyncio.Event(), Slow()
        procurement = Procurement(solver, SYSTEM, woken.set, terms=TERMS)
        for now in islice(times, 3):
            procurement.turn(replace(snapshot, now=now), current, writer)
            assert not writer.nodes.is_busy, "it does not know yet for whom"
        solver.allowed.set()
        async with asyncio.timeout(30):
            await woken.wait()
        for now in islice(times, 3):
            procurement.turn(replace(snapshot, now=now), current, writer)
            assert writer.orders.under_way, "the other is ordered"
            assert not writer.nodes.is_busy, "this one is kept"

    asyncio.run(turns())


def test_that_a_job_fits_nowhere_is_told_once_it_is_known_what_to_buy() -> None:
    device = a_template({"rdma/hca": "1"})
    job, huge = a_training_job("job", gpus=8), a_training_job("huge", gpus=512, template=device)
    snapshot, current = waiting(a_growing_pool(), job, huge)
    assert current.plan is not None
    holds = current.plan.holds

    async def turns() -> None:
        writer, woken, solver = a_writer(), asyncio.Event(), Slow()
        seconds = [1000.0]
        clock = replace(SYSTEM, monotonic=lambda: seconds[0])
        procurement = Procurement(solver, clock, woken.set, terms=TERMS)
        procurement.turn(snapshot, current, writer)
        assert procurement.to_tell(holds, snapshot) == []
        seconds[0] += UNTOLD_SECONDS
        told = procurement.to_tell(holds, snapshot)
        assert [hold.reason for hold in told] == ["CannotFit"] * 2, "not for ever"
        solver.allowed.set()
        async with asyncio.timeout(30):
            await woken.wait()
        procurement.turn(snapshot, current, writer)
        assert reasons(procurement.to_tell(holds, snapshot)) == {
            "job": "Provisioning",
            "huge": "CannotFit",
        }
        later, after = waiting(a_growing_pool(), job, huge, a_training_job("late", gpus=16))
        assert after.plan is not None
        procurement.turn(later, after, writer)
        told = procurement.to_tell(after.plan.holds, later)
        assert reasons(told).keys() == {"job", "huge"}, "what was told is not taken back"
        missing = [hold.job for hold in told if hold.message.endswith("GPUPool h100 (rdma/hca)")]
        assert missing == ["TrainingJob/team/huge"]

    asyncio.run(turns())


class Counting(InlineSolver):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked = 0

    async def estimate(self, problem: Problem) -> Solution | None:
        self.asked += 1
        return await super().estimate(problem)


def test_what_to_buy_is_worked_out_anew_once_a_node_is_closed() -> None:
    there = [a_growing_pool(), a_claim("h100-1", node="n", arrived=True)]
    there += [a_training_job("gang", workers=2, gpus=8)]
    snapshot, current = waiting(*there, a_node_of("h100", "n"))
    closed, _ = waiting(*there, a_node_of("h100", "n", taints=[CLOSED]))

    async def turns() -> list[int]:
        writer, solver = a_writer(), Counting()
        seconds, asked = [1000.0], list[int]()
        clock = replace(SYSTEM, monotonic=lambda: seconds[0])
        procurement = Procurement(solver, clock, lambda: None, terms=LoopTerms())
        for each in (snapshot, snapshot, closed, closed):
            procurement.turn(each, current, writer)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others)
            seconds[0] += PAUSE_SECONDS
            asked.append(solver.asked)
        return asked

    first, same, after, still = asyncio.run(turns())
    assert 0 < first == same < after == still


def reasons(holds: Iterable[Hold]) -> dict[str, str]:
    """Why each job waits, by the job's name."""
    return {hold.job.rpartition("/")[2]: hold.reason for hold in holds}


def test_a_pool_that_is_to_have_countless_nodes_gets_some_at_a_time() -> None:
    many = 2**31 - 1
    pool = a_growing_pool(most=many, provisioning={"min": many})
    snapshot, current = waiting(pool, a_claim("h100-1"))

    async def turns() -> None:
        writer, woken = a_writer(), asyncio.Event()
        Procurement(InlineSolver(0), SYSTEM, woken.set, terms=TERMS).turn(snapshot, current, writer)
        assert writer.orders.under_way == {f"h100-{n}" for n in range(2, MOST_OFFERED + 2)}

    asyncio.run(turns())


def test_that_a_pools_nodes_would_be_anothers_is_said_once() -> None:
    first = a_pool("a", {"nvidia.com/gpu.product": H100}, gpuType=H100)
    snapshot, current = waiting(first, a_growing_pool(), a_training_job("job", gpus=8))

    async def turns() -> None:
        writer, woken = a_writer(), asyncio.Event()
        procurement = Procurement(InlineSolver(0), SYSTEM, woken.set, terms=TERMS)
        for _ in range(2):
            procurement.turn(snapshot, current, writer)
            async with asyncio.timeout(30):
                await woken.wait()
        assert not writer.orders.under_way

    with capture_logs() as logged:
        asyncio.run(turns())
    (text,) = [each["event"] for each in logged if each.get("reason") == Reason.ORDER_REFUSED]
    assert text.startswith("nothing is bought, since its nodes would be those of GPUPool a:")


def test_what_pools_have_that_buy_no_more_is_left_to_the_cluster() -> None:
    fixed = a_pool("h100", {LABEL: "h100"}, gpuType=H100, gpusPerNode=8)
    node = a_node_of("h100", "n", taints=[CLOSED])
    claim = a_claim("h100-1", node="n", arrived=True)
    asked = a_request("h100-2")
    for beside in ([], [a_growing_pool("other")]):
        snapshot, current = waiting(fixed, *beside, node, claim, asked)
        snapshot = replace(snapshot, can_request=True)

        async def turns(snapshot: Snapshot = snapshot, current: CurrentPlan = current) -> None:
            writer, woken = a_writer(), asyncio.Event()
            terms = LoopTerms(ways=frozenset(Way))
            Procurement(InlineSolver(0), SYSTEM, woken.set, terms=terms).turn(
                snapshot, current, writer
            )
            assert writer.orders.under_way == {"h100-2"}
            assert writer.nodes.is_busy

        asyncio.run(turns())
    advised = replace(snapshot, policy=seen(a_policy(mode="Advise")).policy)
    assert advised.advises

    async def advise() -> None:
        writer = a_writer()
        procurement = Procurement(InlineSolver(0), SYSTEM, lambda: None, terms=TERMS)
        procurement.turn(advised, current, writer)
        assert not writer.orders.under_way
        assert not writer.nodes.is_busy

    asyncio.run(advise())


def waiting(*manifests: Manifest) -> tuple[Snapshot, CurrentPlan]:
    """A cluster in which nodes may be ordered, and the plan for what there is."""
    snapshot = replace(seen(*manifests), can_order=True)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0))
    current = CurrentPlan()
    current.adopt(snapshot, PlanResult(plan_input, solution), plan_input)
    return snapshot, current


def a_writer() -> Writer:
    """One that sends nothing, as long as it does not run."""
    twin = Twin(SYSTEM, TwinTerms())
    client = KubeClient(twin.api)
    loop = Loop(twin, twin.solver, asyncio.Event(), recorder=Recorder(None))
    return Writer(client, client, EventRecorder(client), loop)


def _errors() -> float:
    return REGISTRY.get_sample_value("plimsoll_object_errors_total", {"doing": "purchases"}) or 0.0
