"""How large the largest pressure is when the operator seats several models on each GPU.

    python bench/shared_models.py --instances FILE

FILE holds a JSON list of instances: `gpus`, `gpu_mem_gb` and `models` with `size_gb`, `req_rate`
and `slo`. The pressure on a GPU is the sum of rate/slo over the gigabytes that its models leave
free. Models become InferenceJobs and GPUs nodes, and the operator plans them: seconds are CPU
seconds from a first look at the cluster to its plan. Where the plan puts them is verified by code
that the product does not share, and so is that no way to put up to 20 models is better; for more of
them the bound is that of models that can be divided at will. A figure of another program that an
instance carries is repeated beside ours.
"""

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean

from plimsoll_bench.output import print_json
from plimsoll_bench.recorded import Row, json_in, objects_of
from plimsoll_bench.sharing.check import fluid_bound, mistakes, worst_pressure
from plimsoll_bench.sharing.exact import MOST_MODELS, is_possible_below
from plimsoll_bench.sharing.joint import groups, objects, planned
from plimsoll_bench.sharing.models import Instance, Model
from plimsoll_placement.effort import SHARING_STATES
from plimsoll_placement.solve import load

MOST_SAID = 5
RECORDED = "kvpr_cpsat_best"


@dataclass(frozen=True, slots=True)
class Result:
    """One instance solved; pressures in load per gigabyte."""

    instance: int
    pressure: float
    bound: float
    gap_percent: float
    seconds: float
    recorded: float | None


class UnsolvedError(Exception):
    """An instance that has no answer, or one that is wrong."""


def instance_of(row: Row) -> Instance:
    """The instance; numbers are taken as they are written."""
    return Instance(
        models=tuple(
            Model(
                f"model-{place:04}",
                _exact(each.positive("size_gb")),
                _exact(each.number("req_rate")),
                _exact(each.positive("slo")),
            )
            for place, each in enumerate(row.parts("models"))
        ),
        gpus=row.whole("gpus", least=1),
        memory_gb=_exact(row.positive("gpu_mem_gb")),
    )


def _exact(value: float) -> Fraction:
    return Fraction(str(value))


def result(place: int, row: Row, most_states: int) -> Result:
    """One instance planned and verified."""
    instance = instance_of(row)
    seen = objects(instance)
    start = time.process_time()
    plan = planned(seen, most_states)
    seconds = time.process_time() - start
    found = groups(plan, instance)
    wrong = (*(hold.message for hold in plan.holds), *mistakes(instance, found))
    if wrong:
        raise UnsolvedError(f"instance {place}: {'; '.join(wrong[:MOST_SAID])}")
    pressure = worst_pressure(instance, found)
    bound = _bound(instance, pressure)
    return Result(
        instance=place,
        pressure=float(pressure),
        bound=float(bound),
        gap_percent=float(100 * (pressure - bound) / pressure) if pressure else 0.0,
        seconds=seconds,
        recorded=row.number(RECORDED) if row.has(RECORDED) else None,
    )


def _bound(instance: Instance, pressure: Fraction) -> Fraction:
    """The pressure itself if all sets of models show that no less is possible."""
    is_small = len(instance.models) <= MOST_MODELS
    if is_small and pressure and not is_possible_below(instance, pressure):
        return pressure
    return min(pressure, fluid_bound(instance))


def summary(results: list[Result]) -> dict[str, object]:
    """The figures over all instances, and of each."""
    recorded = [each.recorded for each in results if each.recorded is not None]
    return {
        "mean_pressure": fmean(each.pressure for each in results),
        "max_seconds": max(each.seconds for each in results),
        "mean_bound": fmean(each.bound for each in results),
        "max_gap_percent": max(each.gap_percent for each in results),
        "proven": sum(not each.gap_percent for each in results),
        "recorded_mean_pressure": fmean(recorded) if recorded else None,
        "instances": [
            {
                "instance": each.instance,
                "pressure": each.pressure,
                "bound": each.bound,
                "gap_percent": each.gap_percent,
                "seconds": each.seconds,
            }
            for each in results
        ],
    }


def main() -> None:
    """Print the summary as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=Path, required=True, help="a JSON list of instances")
    parser.add_argument(
        "--states", type=int, default=SHARING_STATES, help="partial packings for each"
    )
    options = parser.parse_args()
    load()
    instances = objects_of(json_in(options.instances), str(options.instances))
    results = [result(place, instance, options.states) for place, instance in enumerate(instances)]
    print_json(summary(results))


if __name__ == "__main__":
    main()
