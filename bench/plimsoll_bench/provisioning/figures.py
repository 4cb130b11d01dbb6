"""What a day cost, and what was had for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_bench.day.figures import attainment_percent, serving_hours, training_hours
from plimsoll_simulator.cluster.provider import Rental
from plimsoll_simulator.diary import Stay
from plimsoll_simulator.report.figures import figures
from plimsoll_simulator.story import Lived

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Dollars and hours of nodes from their launch until they are gone.

    `idle_node_hours`: nodes that were there without any pod; `booting_node_hours`: nodes that were
    paid for and not there yet; `idle_gpu_hours`: GPUs without a pod of nodes that were there.
    Useful hours are of a single A100. Waiting is from a job's submission to its first step.
    """

    dollars: float
    dollars_by_offering: dict[str, float]
    node_hours: float
    booting_node_hours: float
    idle_node_hours: float
    idle_gpu_hours: float
    nodes_bought: int
    useful_gpu_hours: float
    useful_training_gpu_hours: float
    useful_serving_gpu_hours: float
    waiting_p50_s: float
    waiting_p95_s: float
    mean_jct_h: float
    p99_jct_h: float
    slo_attainment_percent: float
    unserved_fraction: float
    restarts_per_job: float
    lost_gpu_hours: float
    jobs: int
    hours: float


def of_day(lived: Lived) -> Figures:
    """The figures of a day; ends the program if a job is not done."""
    found = figures(lived)
    if found.done < found.jobs:
        left = [run.name for run in lived.runs if run.account.completed is None]
        raise SystemExit(f"{len(left)} of {found.jobs} jobs never ended, among them {left[0]}")
    until = lived.seconds
    training = sum(map(training_hours, lived.runs))
    services = sum(map(serving_hours, lived.services))
    came = sum(each.came for each in lived.services)
    answered = sum(each.answered for each in lived.services)
    there = [each for each in lived.rentals if each.ready is not None]
    stays = _by_node(lived.stays)
    spent: dict[str, float] = {}
    for each in lived.rentals:
        spent[each.offering.name] = spent.get(each.offering.name, 0.0) + each.dollars(until)
    return Figures(
        dollars=sum(spent.values()),
        dollars_by_offering=dict(sorted(spent.items())),
        node_hours=sum(_end(each, until) - each.begins for each in lived.rentals) / HOUR,
        booting_node_hours=sum(
            (_end(each, until) if each.ready is None else each.ready) - each.begins
            for each in lived.rentals
        )
        / HOUR,
        idle_node_hours=sum(_idle_seconds(each, stays, until) for each in there) / HOUR,
        idle_gpu_hours=sum(_idle_gpu_seconds(each, stays, until) for each in there) / HOUR,
        nodes_bought=len(lived.rentals),
        useful_gpu_hours=training + services,
        useful_training_gpu_hours=training,
        useful_serving_gpu_hours=services,
        waiting_p50_s=found.waiting_p50_hours * HOUR,
        waiting_p95_s=found.waiting_p95_hours * HOUR,
        mean_jct_h=found.mean_jct_hours,
        p99_jct_h=found.p99_jct_hours,
        slo_attainment_percent=min(map(attainment_percent, lived.services), default=100.0),
        unserved_fraction=1 - answered / came if came else 0.0,
        restarts_per_job=found.restarts_per_job,
        lost_gpu_hours=found.lost_gpu_hours,
        jobs=found.jobs,
        hours=until / HOUR,
    )


def _end(rental: Rental, until: float) -> float:
    return until if rental.ends is None else rental.ends


def _by_node(stays: Sequence[Stay]) -> dict[str, list[Stay]]:
    found: dict[str, list[Stay]] = {}
    for stay in sorted(stays, key=lambda each: each.begins):
        found.setdefault(stay.node, []).append(stay)
    return found


def _mine(rental: Rental, stays: dict[str, list[Stay]], until: float) -> list[Stay]:
    """The stays on a rented node: its name may be that of others before and after."""
    begins, ends = rental.begins, _end(rental, until)
    found = stays.get(rental.claim, [])
    return [each for each in found if begins <= each.begins < ends]


def _idle_seconds(rental: Rental, stays: dict[str, list[Stay]], until: float) -> float:
    idle, reached, ends = 0.0, rental.ready or 0.0, _end(rental, until)
    for stay in _mine(rental, stays, until):
        idle += max(0.0, stay.begins - reached)
        reached = max(reached, stay.ends)
    return idle + max(0.0, ends - reached)


def _idle_gpu_seconds(rental: Rental, stays: dict[str, list[Stay]], until: float) -> float:
    held = sum(stay.gpu_seconds for stay in _mine(rental, stays, until))
    return rental.offering.gpus * (_end(rental, until) - (rental.ready or 0.0)) - held
