"""A power domain of two nodes with four GPUs each, a job on each, and what is measured of them."""

from datetime import datetime
from typing import Any

from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.capping.reaction import Reaction, power_reactions
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.problem import Problem
from support.clusters.seen import NOW, at, seen, with_pods
from support.objects.job_manifests import a_pool, a_power_domain, a_priority_class, a_training_job

ROW = {"row": "a"}
POWER = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 600, "minCapWatts": 200}
EXPECTED = 4000
"""Watts of both nodes in use, without a reserve."""


def a_node(name: str, **notes: str) -> Manifest:
    """A node of the row; `notes` are annotations, such as power_cap_watts."""
    node = fake_node(name, gpus=4, labels=ROW)
    own = {f"plimsoll.dev/{key.replace('_', '-')}": value for key, value in notes.items()}
    node["metadata"]["annotations"] = {**node["metadata"].get("annotations", {}), **own}
    return node


def a_domain(budget_watts: int = 4500, status: Manifest | None = None, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """The row's domain."""
    domain = a_power_domain("row-a", ROW, budget_watts=budget_watts, **spec)
    return {**domain, "status": status or {}}


def over(seconds_ago: float, **status: Any) -> Manifest:  # noqa: ANN401 - fields of a status
    """The status of a domain that has drawn too much for so long."""
    since = datetime.fromtimestamp(NOW.timestamp() - seconds_ago, NOW.tzinfo).isoformat()
    within = {"type": "WithinBudget", "status": "False", "reason": "PowerOvershoot"}
    return {"conditions": [{**within, "lastTransitionTime": since}], **status}


def a_reading(
    watts: float | None = None, *, at: datetime = NOW, problem: str = "", **nodes: float
) -> PowerReading:
    """What the domain and its nodes (n_1, n_2) draw."""
    by_node = {name.replace("_", "-"): watts for name, watts in nodes.items()}
    domains = {} if watts is None else {"row-a": watts}
    return PowerReading(at, domains, by_node, problems={"row-a": problem} if problem else {})


def jobs() -> list[Manifest]:
    """A job of priority 0 on one node, an urgent one on the other."""
    batch = at(a_training_job("batch", workers=4), *["n-1"] * 4)
    urgent = a_training_job("urgent", workers=4, priorityClassName="urgent")
    return [a_priority_class("urgent", 100), *with_pods([batch, at(urgent, *["n-2"] * 4)])]


def row(
    domain: Manifest,
    *nodes: Manifest,
    power: PowerReading | None = None,
    work: list[Manifest] | None = None,
) -> Snapshot:
    """The cluster."""
    members = nodes or (a_node("n-1"), a_node("n-2"))
    rest = jobs() if work is None else work
    return seen(*members, a_pool("p", ROW, power=POWER), domain, *rest, power=power)


def problem_of(snapshot: Snapshot) -> Problem:
    """The problem that the solver gets."""
    return plan_input_of(snapshot, ProblemBuilder()).problem


def reaction_to(snapshot: Snapshot) -> Reaction:
    """What follows for the one domain."""
    [reaction] = power_reactions(snapshot, problem_of(snapshot))
    return reaction
