"""What is handed to the writer while a plan's changes wait for jobs that are being written."""

import asyncio

from plimsoll.acting.step import Step
from plimsoll.acting.writes.writer import Writer
from plimsoll.clock import SYSTEM
from plimsoll.control.current_plan import CurrentPlan
from plimsoll.control.dispatch import Dispatch
from plimsoll.control.loop import Loop
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.provisioning.procurement import Procurement
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.planning.actions import Admit, Preempt
from plimsoll.planning.capping.reaction import Reactions
from plimsoll.planning.faults import Faults
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.snapshots.recorder import Recorder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from plimsoll_simulator.twin import Twin, TwinTerms
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_priority_class, a_training_job

NODE = fake_node("full", gpus=4)
RUNNING = [at(a_training_job(f"job-{number}", gpus=2), "full") for number in range(2)]
URGENT = [
    a_priority_class("urgent", 1000),
    a_training_job("urgent", gpus=4, priorityClassName="urgent"),
]


class Scene:
    """An operator that has planned, and whose writer has not written yet."""

    def __init__(self, *manifests: Manifest) -> None:
        self.snapshot = seen(NODE, *RUNNING, *manifests)
        self._input = plan_input_of(self.snapshot, ProblemBuilder())
        self.plan = CurrentPlan()
        twin = Twin(SYSTEM, TwinTerms())
        client = KubeClient(twin.api)
        loop = Loop(twin, twin.solver, asyncio.Event(), recorder=Recorder(None))
        self.writer = Writer(client, client, EventRecorder(client), loop)
        procurement = Procurement(twin.solver, SYSTEM, lambda: None, terms=LoopTerms())
        self._dispatch = Dispatch(twin, Faults(), Reactions(), procurement, terms=LoopTerms())
        self.adopt()

    def adopt(self) -> None:
        """Make a new plan."""
        solution = solve(self._input.problem, Effort(deterministic_seconds=0))
        self.plan.adopt(self.snapshot, PlanResult(self._input, solution), self._input)

    def act(self) -> set[str]:
        """The names of the jobs that are being written, once what is due is handed over."""
        self._dispatch.act(self.snapshot, self._input, self.plan, self.writer)
        in_flight = self.writer.in_flight
        return {job.resource.metadata.name for job in self.snapshot.jobs if job.uid in in_flight}

    def write(self, name: str) -> None:
        """Begin to write a job."""
        (job,) = (each for each in self.snapshot.jobs if each.resource.metadata.name == name)
        self.writer.submit(Step(job, job.resource.status))


def test_a_job_that_is_to_give_way_begins_no_other_write_until_there_is_a_new_plan() -> None:
    scene = Scene(*URGENT)
    assert {type(each) for each in scene.plan.changes} == {Preempt, Admit}
    scene.write("job-0")
    assert scene.act() == {"job-0"}
    assert scene.act() == {"job-0"}, "nor while the next plan is being made"
    scene.adopt()
    assert not scene.plan.awaited


def test_otherwise_it_does() -> None:
    scene = Scene()
    scene.write("job-0")
    assert scene.act() == {"job-0", "job-1"}
