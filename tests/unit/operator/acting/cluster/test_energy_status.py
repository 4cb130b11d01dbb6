"""What a policy says of its signal, and that plans follow it."""

from dataclasses import replace
from typing import Any

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.api.parts.conditions import condition
from plimsoll.api.placement_policy import PlacementPolicyStatus
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.power.energy_signal import KEPT
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Weights
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_policy

SIGNAL = {"energySignal": {"query": "grid", "usual": 400}}
PLAIN = Weights().gpu_seconds_per_kilowatt_hour


class Life:
    """A policy from one turn to the next; each sees the status that the one before has left."""

    def __init__(self) -> None:
        self.status: Any = {}
        self.weight = 0

    def turn(
        self,
        energy: EnergyReading | None,
        *,
        objective: Any = SIGNAL,  # noqa: ANN401 - of a spec
        later: bool = False,
    ) -> PlacementPolicyStatus:
        """The status after a turn, whose plan weighed energy so much."""
        policy = {**a_policy(objective=objective), "status": self.status}
        snapshot = seen(policy, energy=energy)
        if later:
            snapshot = replace(snapshot, now=NOW + 2 * KEPT)
        plan_input = plan_input_of(snapshot, ProblemBuilder())
        self.weight = plan_input.problem.weights.gpu_seconds_per_kilowatt_hour
        plan = plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem, Effort())))
        assert snapshot.policy is not None
        written = [status for _, status in cluster_statuses(snapshot, plan_input.problem, plan, ())]
        [status] = written or [snapshot.policy.status]
        assert isinstance(status, PlacementPolicyStatus)
        self.status = status.wire()
        return status


def reported(status: PlacementPolicyStatus) -> tuple[str, str, str]:
    """What the condition says."""
    found = condition(status.conditions, "EnergySignalMeasured")
    assert found is not None
    return found.status, found.reason, found.message


def test_the_status_says_how_much_energy_counts_and_the_next_plan_goes_by_it() -> None:
    life = Life()
    status = life.turn(EnergyReading(NOW, "grid", 803.2))
    message = "803, usually 400: energy counts 2 times its weight"
    assert reported(status) == ("True", "SignalMeasured", message)
    assert life.weight == PLAIN
    life.turn(EnergyReading(NOW, "grid", 803.2))
    assert life.weight == 2 * PLAIN


def test_without_data_the_last_holds_and_then_the_usual_and_it_is_reported() -> None:
    life = Life()
    life.turn(EnergyReading(NOW, "grid", 800))
    silent = EnergyReading(NOW, "grid", problem="Prometheus has not answered for 90 s")
    said = "Prometheus has not answered for 90 s; energy counts {} times its weight"
    assert reported(life.turn(silent)) == ("False", "SignalUnknown", said.format(2))
    assert reported(life.turn(silent, later=True)) == ("False", "SignalUnknown", said.format(1))
    life.turn(silent, later=True)
    assert life.weight == PLAIN


def test_without_prometheus_the_usual_weight_counts_and_it_is_reported() -> None:
    message = "Prometheus is not configured: energy counts 1 times its weight"
    assert reported(Life().turn(None)) == ("False", "PrometheusNotSet", message)


def test_a_signal_that_is_taken_away_leaves_nothing_behind() -> None:
    life = Life()
    life.turn(EnergyReading(NOW, "grid", 800))
    status = life.turn(EnergyReading(NOW), objective={"preset": "Balanced"})
    assert (life.weight, status.energy) == (PLAIN, None)
    assert [each.type for each in status.conditions] == ["Planned"]
