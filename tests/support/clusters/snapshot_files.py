"""Snapshot files as the operator writes them, of clusters that manifests describe."""

from datetime import UTC, datetime
from pathlib import Path

from plimsoll.observe.observer import Objects, Observer
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.snapshots.writing import Moment, write
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve

TAKEN = datetime(2026, 11, 21, 12, 0, 30, 125, tzinfo=UTC)
QUICK = Effort(0.2)


def input_of(objects: Objects, now: datetime = TAKEN) -> PlanInput:
    """The plan input for these objects."""
    return plan_input_of(Observer().snapshot(objects, now), ProblemBuilder())


def planned(objects: Objects, now: datetime = TAKEN) -> Moment:
    """The moment in which these objects were planned."""
    return Moment(objects, now, QUICK, solve(input_of(objects, now).problem, QUICK))


def snapshot_of(objects: Objects, folder: Path) -> Path:
    """The file that the operator writes of them."""
    return write(folder, planned(objects), keep=100)
