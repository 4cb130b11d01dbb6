"""What to buy is worked out beside the loop; what goes wrong there is counted and costs no more."""

import asyncio
from dataclasses import replace

from prometheus_client import REGISTRY

from plimsoll.acting.writes.writer import Writer
from plimsoll.clock import SYSTEM
from plimsoll.control.current_plan import CurrentPlan
from plimsoll.control.loop import Loop
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.procurement import Procurement
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.observe.nodes.orders import Way
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.snapshots.recorder import Recorder
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import solve
from plimsoll_simulator.inline_solver import InlineSolver
from plimsoll_simulator.twin import Twin, TwinTerms
from support.clusters.seen import seen
from support.objects.bought_nodes import a_growing_pool
from support.objects.job_manifests import a_training_job


class Broken(InlineSolver):
    """Finds no estimate for want of memory."""

    async def estimate(self, problem: Problem) -> Solution | None:
        raise MemoryError(f"{len(problem.nodes)} nodes are too many")


def test_an_error_while_it_is_worked_out_what_to_buy_is_counted() -> None:
    snapshot = seen(a_growing_pool(), a_training_job("job", gpus=8))
    snapshot = replace(snapshot, can_order=True)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0))
    current = CurrentPlan()
    current.adopt(snapshot, PlanResult(plan_input, solution), plan_input)

    async def turns() -> None:
        twin, woken = Twin(SYSTEM, TwinTerms()), asyncio.Event()
        client = KubeClient(twin.api)
        loop = Loop(twin, twin.solver, asyncio.Event(), recorder=Recorder(None))
        writer = Writer(client, client, EventRecorder(client), loop)
        terms = LoopTerms(ways=frozenset({Way.NODE_CLAIM}))
        procurement = Procurement(Broken(0), SYSTEM, woken.set, terms=terms)
        procurement.turn(snapshot, current, writer)
        async with asyncio.timeout(30):
            await woken.wait()
        procurement.turn(snapshot, current, writer)
        assert not writer.orders.under_way

    before = _errors()
    asyncio.run(turns())
    assert _errors() == before + 1


def _errors() -> float:
    return REGISTRY.get_sample_value("plimsoll_object_errors_total", {"doing": "purchases"}) or 0.0
